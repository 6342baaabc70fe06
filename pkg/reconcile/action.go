package reconcile

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// executor executes the changes of one plan.
type executor struct {
	*sender

	reconciler *Reconciler
	// tokensRecorded is true if the status was written during the execution of the plan. tokensErr is the
	// error of this write.
	tokensRecorded bool
	tokensErr      error
}

// sender sends the requests of single changes.
type sender struct {
	*outcomeRecorder

	hooks *hooks.Hooks
	sleep func(ctx context.Context, d time.Duration) error
	// ending caches, for each namespace that is being deleted, the message about its deletion.
	ending sync.Map
	// searched has the progress of the search for each object whose patch was rejected.
	searched map[manifest.ID]*progress
	// doors has the gates of the namespaces in which objects are created.
	doors map[string]*namespaceGate
}

// outcomeRecorder records the outcomes of changes, also in the State and in the store.
type outcomeRecorder struct {
	target Target
	s      *Snapshot
	plan   *plan.Plan
	now    time.Time
	mu     sync.Mutex // guards the fields below, the maps of the sender, and the State
	result map[manifest.ID]plan.Outcome
	// refused has the leaves that the API server rejected.
	refused map[manifest.ID][]plan.RejectedLeaf
}

// decideAgain decides the change of a resource again, for its current object.
func (a *outcomeRecorder) decideAgain(id manifest.ID, object map[string]any) plan.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	change := a.plan.Replan(id, object, a.refused[id]...)
	if object != nil {
		put(&a.s.memory.unwatched, id, unwatchedObject{object: object, until: a.now.Add(recheckConflict)})
	} else {
		delete(a.s.memory.unwatched, id)
	}
	return change
}

// known returns the number of rejected leaves that are known for an object.
func (a *outcomeRecorder) known(id manifest.ID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.refused[id])
}

func (a *outcomeRecorder) record(change plan.Change, outcome plan.Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id := change.ID
	outcome.Change, outcome.Rejected = change, a.refused[id]
	a.result[id] = outcome
	if outcome.Problem == nil {
		delete(a.s.memory.failures, id)
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
	if f, ok := a.s.memory.unwatched[id]; ok {
		f.until = a.now.Add(problem.RetryAfter) // the conflicting object is read again then
		put(&a.s.memory.unwatched, id, f)
	}
	outcome.Problem = problem
	a.result[id] = outcome
}

// recordWrite adds the response of a write to the store, before the watch delivers it.
func (a *outcomeRecorder) recordWrite(at cluster.Location, object map[string]any) {
	a.target.Wrote(at, object)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.s.memory.unwatched, at.ID)
	delete(a.s.memory.unanswered, at.ID)
	delete(a.s.memory.unsure, at.ID)
}

// recordRead adds an object of the Application that was read to the store, before the watch delivers it.
func (a *outcomeRecorder) recordRead(at cluster.Location, object map[string]any) {
	u := unstructured.Unstructured{Object: object}
	if u.GetLabels()[v1alpha1.LabelApplicationUID] == string(a.s.Input.Application.UID) || a.s.shared[at.ID] {
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

// recordDeletion removes a deleted object from the store.
func (a *outcomeRecorder) recordDeletion(at cluster.Location, uid string) {
	if uid == "" {
		return
	}
	a.target.Gone(at, types.UID(uid))
	a.mu.Lock()
	defer a.mu.Unlock()
	put(&a.s.memory.gone, types.UID(uid), true)
	delete(a.s.memory.unwatched, at.ID)
}
