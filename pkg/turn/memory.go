package turn

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

// State is what is remembered of one Application between two turns. Only the turn
// that has the Application touches it. It may be lost.
type State struct {
	// since is when this process first looked at the Application.
	since      time.Time
	plan       plan.State
	generation int64
	// request is the value of the annotation that asks for a reconcile now.
	request string
	// recalled is true once it has what the status kept of fights over a restart.
	recalled bool
	retry    retry
	jitter   func(time.Duration) time.Duration
	// kinds are those of objects that hooks add.
	kinds []schema.GroupVersionKind
	// failures has the resources that must not be tried again yet.
	failures map[manifest.ID]*failure
	// missing has the namespaces that are not there, and when they are tried again: once
	// for all that is to be created in one.
	missing map[string]time.Time
	// unwatched has objects that exist and are in no watch, because they do not
	// carry our label.
	unwatched map[manifest.ID]unwatchedObject
	// unanswered has the objects that may have been created though no answer came.
	unanswered map[manifest.ID]bool
	// unsure has the objects whose last patch had no answer, and the generation of the
	// Application that it was for: the watch may not show yet what it has done.
	unsure map[manifest.ID]int64
	// permits has the objects watched by their names that the ServiceAccount may read.
	permits map[manifest.ID]readPermission
	// lists are the ranges of spec.select that the ServiceAccount may list.
	lists map[listKey]listPermission
	// selected are the objects that spec.select meant at the last turn, comings those that
	// have gone since they were meant first.
	selected map[manifest.ID]struct{}
	churn    map[manifest.ID]selectionChurn
	// yields has the shared objects of which older Applications may want fields.
	yields map[manifest.ID]precedenceWait
	// unmarked has the objects that are watched by their names because the Application
	// observes, and they do not carry our marks.
	unmarked map[manifest.ID]bool
	// gone has the objects that we deleted and know to be gone.
	gone map[types.UID]bool
	// slices are those that the Application names or has named, as long as they are there.
	slices []string
	// postponed is the report that is not written yet, if there is one.
	postponed *pendingReport
	// olderSince is since when older entries of the history wait to be written, and
	// olderWritten when such were written last, or should have been.
	olderSince, olderWritten time.Time
}

// readPermission says that the Application's ServiceAccount may read such an object, as it was asked
// for this spec.
type readPermission struct {
	generation int64
	account    string
	uid        string // of the object that was read; empty for none
}

// precedenceWait is how long fields of one object, in this life of it, were left to older Applications.
type precedenceWait struct {
	generation int64
	uid        string
	since      time.Time
}

// listPermission says that the Application's ServiceAccount may list what is in a range, as it was
// asked for this spec.
type listPermission struct {
	generation int64
	account    string
	at         time.Time
	// uids are the objects that were shown since.
	uids map[string]struct{}
}

// listKey is what a right to list is for.
type listKey struct {
	schema.GroupKind

	namespace, name string
}

// selectionChurn is an object that spec.select has meant, and has not meant since.
type selectionChurn struct {
	times int
	left  time.Time
}

// failure is a resource that could not be brought to its desired state.
type failure struct {
	problem  *plan.Problem
	attempts int
	until    time.Time
	// exhausted is true after the last attempt, until something changes.
	exhausted bool
}

// unwatchedObject is an object that was read and is in no watch; it is believed for a while.
type unwatchedObject struct {
	object map[string]any
	until  time.Time
}

// NewMemory is the memory of a process that has not handled the Application yet.
func NewMemory(app *v1alpha1.Application, now time.Time) *State {
	return &State{
		since: now, generation: app.Generation, request: app.Status.ReconcileRequest, jitter: worker.Jitter,
		plan: remembered(app), recalled: len(app.Status.RecordSlices) == 0,
	}
}

// put makes a map when the first is put into it: of most Applications none of a Memory's is
// ever needed.
func put[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

// startReconcile prepares a turn. A new generation of the Application, or a request to reconcile
// now, is a new try for everything; a change of anything is one for what was given up, and
// a namespace that has come for what waits for namespaces.
func (m *State) startReconcile(app *v1alpha1.Application, news News, now time.Time) {
	m.retry = retryOf(app.Spec.Retry)
	request := app.Annotations[v1alpha1.AnnotationReconcile]
	if request != m.request {
		m.plan.Retry()
	}
	if m.generation != app.Generation || m.request != request {
		m.generation, m.request = app.Generation, request
		m.failures, m.missing = map[manifest.ID]*failure{}, map[string]time.Time{}
		m.plan.Rejections, m.plan.RejectedChanges = nil, nil
		m.unwatched = map[manifest.ID]unwatchedObject{}
		m.gone = map[types.UID]bool{}
		m.selected, m.churn = nil, nil
	}
	if news.Namespace {
		maps.DeleteFunc(m.failures, func(_ manifest.ID, f *failure) bool { return f.problem.Namespace != "" })
		clear(m.missing)
	}
	if news.Changed {
		m.tryAgain()
	}
	m.giveUpRefused(now)
}

// restoreContests takes over, once, what the status of an Application that is whole has of fights.
func (m *State) restoreContests(app *v1alpha1.Application) {
	if m.recalled {
		return
	}
	m.plan, m.recalled = remembered(app), true
	if m.request != app.Status.ReconcileRequest {
		m.plan.Retry()
	}
}

// PendingStatus is the status of a report that is not written yet, or nil.
func (m *State) PendingStatus() *v1alpha1.ApplicationStatus {
	if m.postponed == nil {
		return nil
	}
	return m.postponed.whole()
}

// knows reports whether a kind that hooks add is looked up.
func (m *State) knows(gvk schema.GroupVersionKind) bool { return slices.Contains(m.kinds, gvk) }

// remembered is the memory of fights that the status kept over a restart.
func remembered(app *v1alpha1.Application) plan.State {
	m := plan.State{Contests: map[plan.Leaf]*plan.Contest{}}
	for _, f := range app.Status.Contested {
		leaf := plan.Leaf{ID: plan.IDOf(f.Resource), Path: f.Path}
		m.Contests[leaf] = &plan.Contest{
			Corrections: int(f.Corrections), Next: f.NextCorrection.Time, Manager: f.Manager,
			Desired: valueOf(f.Desired), Observed: valueOf(f.Live),
		}
	}
	return m
}

// valueOf is a value as the status has it, which may be absent.
func valueOf(raw *runtime.RawExtension) delta.Value {
	var value any
	if raw == nil || utiljson.Unmarshal(raw.Raw, &value) != nil {
		return delta.Value{}
	}
	return delta.Some(value)
}

// failed remembers that a resource cannot be brought to its desired state now.
// It returns the problem with the time to try again, later each time; without
// one, and stalled, after the last attempt.
func (m *State) failed(id manifest.ID, problem *plan.Problem, now time.Time) *plan.Problem {
	f := m.failures[id]
	if f == nil {
		f = &failure{}
		put(&m.failures, id, f)
	}
	f.attempts++
	until := now.Add(m.jitter(m.retry.wait(problem, f.attempts)))
	if namespace := problem.Namespace; namespace != "" {
		if shared := m.missing[namespace]; shared.After(now) {
			until = shared
		}
		put(&m.missing, namespace, until)
	}
	if f.exhausted = m.retry.exhausted(f.attempts); f.exhausted {
		f.attempts = m.retry.attempts // what is tried because something changed is no further attempt
		f.problem = givenUp(problem, f.attempts)
		return f.problem
	}
	again := *problem
	again.RetryAfter = until.Sub(now)
	f.problem, f.until = problem, until
	return &again
}

// blocked returns what must not be tried yet.
func (m *State) blocked(now time.Time) map[manifest.ID]*plan.Problem {
	blocked := map[manifest.ID]*plan.Problem{}
	for id, f := range m.failures {
		if !f.exhausted && !now.Before(f.until) {
			continue
		}
		problem := *f.problem
		if !f.exhausted {
			problem.RetryAfter = f.until.Sub(now)
		}
		blocked[id] = &problem
	}
	return blocked
}

// tryAgain lets what was given up be tried once more: something has changed.
func (m *State) tryAgain() {
	for _, f := range m.failures {
		if f.exhausted {
			f.exhausted, f.until = false, time.Time{}
		}
	}
	m.plan.EachRefusal(func(refusal *plan.Rejection) {
		if m.retry.exhausted(refusal.Times) {
			refusal.Until = time.Time{}
		}
	})
}

// forGood is as long as nothing changes.
const forGood = 10 * 365 * 24 * time.Hour

// giveUpRefused holds back for good what was refused at the last attempt.
func (m *State) giveUpRefused(now time.Time) {
	m.plan.EachRefusal(func(refusal *plan.Rejection) {
		if m.retry.exhausted(refusal.Times) && refusal.Until.After(now) {
			refusal.Until = now.Add(forGood)
		}
	})
}

// nextProbe is how long what was found outside of any watch is believed, 0 if
// there is no such thing. Nobody tells us when it goes.
func (m *State) nextProbe(now time.Time) time.Duration {
	var next time.Duration
	for _, f := range m.unwatched {
		next = MinWait(next, max(f.until.Sub(now), time.Second))
	}
	return next
}

// postpone adds a result to the report that is not written yet.
func (m *State) postpone(result plan.Result, now time.Time) {
	if m.postponed == nil {
		m.postponed = &pendingReport{since: now}
	}
	m.postponed.status, m.postponed.content = result.Status, nil
	m.postponed.event = m.postponed.event.Merge(result.Event)
}
