package turn

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

const (
	// attempts is how often a change is decided again at once, because another client
	// was faster.
	attempts = 4
	// requestTimeout bounds one request.
	requestTimeout = 30 * time.Second
	// recheckConflict is how long an object that is in the way is not read again.
	recheckConflict = 5 * time.Minute
)

// executor executes the changes of one plan.
type executor struct {
	turns  *Reconciler
	target Target
	s      *Snapshot
	plan   *plan.Plan
	now    time.Time
	// tokensRecorded is true when the status was written before the work was done,
	// tokensErr is why that was not possible.
	tokensRecorded bool
	tokensErr      error
	// ending has what namespaces that are being deleted say of that.
	ending sync.Map
	mu     sync.Mutex // guards what follows, and the memory
	result map[manifest.ID]plan.Outcome
	// refused has the leaves that the API server has refused.
	refused map[manifest.ID][]plan.RejectedLeaf
	// searched is what is known of objects whose patches were refused.
	searched map[manifest.ID]*progress
	// doors are those of the namespaces in which something is to be created.
	doors map[string]*namespaceGate
}

// decideAgain decides a resource anew.
func (a *executor) decideAgain(id manifest.ID, object map[string]any) plan.Change {
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

// known is how much has been found out about an object whose patch was refused.
func (a *executor) known(id manifest.ID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.refused[id])
}

func (a *executor) record(change plan.Change, outcome plan.Outcome) {
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
	if change.Shared && (waits || outcome.Problem.Compared()) {
		delete(a.s.memory.failures, id)
		return // no attempt has failed: the object itself tells when another lets go
	}
	problem := a.s.memory.failed(id, outcome.Problem, a.now)
	if f, ok := a.s.memory.unwatched[id]; ok {
		f.until = a.now.Add(problem.RetryAfter) // what is in the way is read again then
		put(&a.s.memory.unwatched, id, f)
	}
	outcome.Problem = problem
	a.result[id] = outcome
}

// recordWrite has the store know our own write before the watch does.
func (a *executor) recordWrite(at cluster.Location, object map[string]any) {
	a.target.Wrote(at, object)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.s.memory.unwatched, at.ID)
	delete(a.s.memory.unanswered, at.ID)
	delete(a.s.memory.unsure, at.ID)
}

// recordRead has the store know an object of ours that was read before the watch has shown it.
func (a *executor) recordRead(at cluster.Location, object map[string]any) {
	u := unstructured.Unstructured{Object: object}
	if u.GetLabels()[v1alpha1.LabelApplicationUID] == string(a.s.Input.Application.UID) || a.s.shared[at.ID] {
		a.target.Wrote(at, observer.CopyMap(object)) // a store keeps no managedFields, and who reads needs them
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.s.memory.unsure, at.ID)
}

// hasUnansweredPatch reports whether an object may have what a request without an answer gave it, and
// another spec than this one asked for.
func (a *executor) hasUnansweredPatch(id manifest.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	generation, unsure := a.s.memory.unsure[id]
	return unsure && generation != a.s.Input.Application.Generation
}

// recordDeletion has the store know that an object is no more.
func (a *executor) recordDeletion(at cluster.Location, uid string) {
	if uid == "" {
		return
	}
	a.target.Gone(at, types.UID(uid))
	a.mu.Lock()
	defer a.mu.Unlock()
	put(&a.s.memory.gone, types.UID(uid), true)
	delete(a.s.memory.unwatched, at.ID)
}
