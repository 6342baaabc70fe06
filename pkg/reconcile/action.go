package reconcile

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// executor executes the changes of one plan. It exists for one call of act. Its own fields are used only between
// stages, on the goroutine of act.
type executor struct {
	*sender

	// tokensRecorded is true if the status was written during the execution of the plan. tokensErr is the
	// error of this write.
	tokensRecorded bool
	tokensErr      error
}

// sender sends the requests of single changes.
type sender struct {
	*outcomeRecorder

	// reconciler provides the hooks, which are run before and after a request, on the goroutine of the change.
	reconciler *Reconciler
	// ending caches, for each namespace that is being deleted, the message about its deletion. The keys are names,
	// the values func() string.
	ending sync.Map
	// searched records the progress of the search for each object whose patch was rejected. mu guards the map. Only the
	// goroutine of a change uses the progress of its object.
	searched map[manifest.ID]*progress
	// gates contains the gates of the namespaces in which objects are created. mu guards the map, and each gate has its
	// own lock.
	gates map[string]*namespaceGate
}

// outcomeRecorder records the outcomes of changes, also in the State and in the store. mu is held for no longer than
// the update of a map, and never during a request.
type outcomeRecorder struct {
	target Target
	// s is the snapshot from which the plan was decided; not changed during act.
	s *Snapshot
	// plan does not change. Replan returns new changes.
	plan *plan.Plan
	// now is the start of act.
	now time.Time
	mu  sync.Mutex // guards the fields below, the maps of the sender, and the State
	// result contains the outcomes of the executed changes. Changes that needed no request have none.
	result map[manifest.ID]plan.Outcome
	// refused lists the leaves that the API server rejected in this execution of the plan.
	refused map[manifest.ID][]plan.RejectedLeaf
}

// decideAgain decides the change of a resource again, for its current object; nil if it does not exist. It also
// caches an object that no watch shows, because it may belong to another owner. A later write removes it from the
// cache. An object in a watch is not cached: the cache would hide its deletion.
func (a *outcomeRecorder) decideAgain(id manifest.ID, object map[string]any) plan.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	change := a.plan.Replan(id, object, a.refused[id]...)
	if object != nil && !a.isWatched(id, object) {
		put(&a.s.memory.unwatched, id, unwatchedObject{object: object, until: a.now.Add(recheckConflict)})
	} else {
		delete(a.s.memory.unwatched, id)
	}
	return change
}

// known returns the number of rejected leaves that are known for an object in this execution.
func (a *outcomeRecorder) known(id manifest.ID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.refused[id])
}

// record stores the outcome of a change, and counts or resets the failures of its resource. It must be called once
// for each executed change. A partial problem, such as a deferred field, is no failure of the resource: package plan
// has its own backoff for it.
func (a *outcomeRecorder) record(change plan.Change, outcome plan.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := change.ID
	outcome.Change, outcome.Rejected = change, a.refused[id]
	a.result[id] = outcome
	if outcome.Problem == nil {
		delete(a.s.memory.failures, id)
		// The namespace exists.
		if outcome.Action == plan.Create {
			delete(a.s.memory.missing, id.Namespace)
		}
		return
	}
	if outcome.Problem.Partial {
		return
	}
	waits := outcome.Problem.RetryAfter == 0 && outcome.Problem.Disposition() == v1alpha1.DispositionWait
	if change.Shared && (waits || outcome.Problem.FromComparison) {
		delete(a.s.memory.failures, id)
		return // no attempt has failed: the object changes when another Application releases the field
	}
	problem := a.s.memory.failed(id, outcome.Problem, a.now)
	a.s.memory.failures[id].uid = change.UID
	if f, ok := a.s.memory.unwatched[id]; ok {
		f.until = a.now.Add(problem.RetryAfter) // the conflicting object is read again then
		put(&a.s.memory.unwatched, id, f)
	}
	outcome.Problem = problem
	a.result[id] = outcome
}

// recordWrite adds the response of a write to the store, before the watch delivers it. The object is then known, so
// earlier requests without a response no longer matter.
func (a *outcomeRecorder) recordWrite(at cluster.Location, object map[string]any) {
	a.target.Wrote(at, object)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.s.memory.unwatched, at.ID)
	delete(a.s.memory.unanswered, at.ID)
	delete(a.s.memory.unsure, at.ID)
}

// isWatched reports whether a watch of the Application shows an object: it has the Application's tracking label, or is
// shared.
func (a *outcomeRecorder) isWatched(id manifest.ID, object map[string]any) bool {
	u := unstructured.Unstructured{Object: object}
	return u.GetLabels()[v1alpha1.LabelApplicationUID] == string(a.s.Input.Application.UID) || a.s.shared[id]
}

// recordRead adds an object that was read to the store, before the watch delivers it, if a watch shows the object.
func (a *outcomeRecorder) recordRead(at cluster.Location, object map[string]any) {
	if a.isWatched(at.ID, object) {
		a.target.Wrote(at, observer.CopyMap(object)) // a copy, because the store drops managedFields and the caller needs them
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.s.memory.unsure, at.ID)
}

// hasUnansweredPatch reports whether the last patch of an object had no response, and was for another
// generation of the spec.
func (a *outcomeRecorder) hasUnansweredPatch(id manifest.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	generation, unsure := a.s.memory.unsure[id]
	return unsure && generation != a.s.Input.Application.Generation
}

// recordDeletion removes a deleted object from the store, and remembers its UID. Without a UID it does nothing,
// because it could not distinguish a new object of the same name.
func (a *outcomeRecorder) recordDeletion(at cluster.Location, uid string) {
	if uid == "" {
		return
	}
	a.target.Gone(at, types.UID(uid))
	a.mu.Lock()
	defer a.mu.Unlock()
	// The status lists the UID until it is written.
	put(&a.s.memory.gone, types.UID(uid), true)
	delete(a.s.memory.unwatched, at.ID)
}
