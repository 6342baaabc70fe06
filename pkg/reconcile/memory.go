package reconcile

import (
	"maps"
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

// State is the in-memory state of one Application between two reconciliations. It may be lost: then requests are
// repeated, and none is wrong. Only the current reconciliation of the Application accesses it. While act sends
// requests in parallel, outcomeRecorder.mu guards it.
//
// Maps are nil until they are needed, because most Applications need none of them.
type State struct {
	// since is when this process first reconciled the Application.
	since time.Time
	// plan is the state of package plan: contests, and rejected changes.
	plan plan.State
	// generation is metadata.generation at the last reconciliation. Another generation retries everything.
	generation int64
	// request is the value of the annotation that requests a reconciliation.
	request string
	// recalled is true after the contests in the status were restored following a restart. It is false only until the
	// slices that contain them are joined.
	recalled bool
	// kinds lists the kinds of objects that hooks add.
	kinds []schema.GroupVersionKind
	// yields lists the shared objects of which older Applications may claim fields.
	yields map[manifest.ID]precedenceWait
	retries
	pendingResponses
	outsideWatches
	permissions
	matches
	reportState
}

// retries lists the requests that are postponed.
type retries struct {
	// retry is spec.retry of the current version.
	retry retry
	// jitter lengthens a wait at random. Tests replace it.
	jitter func(time.Duration) time.Duration
	// failures lists the resources that must not be retried yet. A key whose name is empty or begins with an asterisk
	// is a range of spec.select that could not be listed.
	failures map[manifest.ID]*failure
	// missing maps missing namespaces to the time of their next retry, which is the same for all objects in the
	// namespace. So one object finds out whether the namespace exists, and not each at its own time.
	missing map[string]time.Time
}

// pendingResponses lists the objects whose last request had no response. The watch may not show its effect yet.
type pendingResponses struct {
	// unanswered lists the objects that may have been created. They are removed when a watch or a read shows the
	// object, or a read returns that it does not exist.
	unanswered map[manifest.ID]bool
	// unsure records the objects that may have been patched, and the generation of the Application that sent the
	// patch.
	unsure map[manifest.ID]int64
}

// outsideWatches has objects that no watch with the tracking label shows.
type outsideWatches struct {
	// unwatched has objects that exist and are in no watch, such as an object of another owner that a create has met.
	unwatched map[manifest.ID]unwatchedObject
	// unmarked lists the objects that are watched by name because the Application is in observe-only mode and
	// they do not have its tracking metadata.
	unmarked map[manifest.ID]bool
	// gone lists the UIDs of objects that are known to be deleted, so that they are not read again while the status
	// still lists them.
	gone map[types.UID]bool
}

// permissions records what the ServiceAccount may read of objects without tracking metadata.
type permissions struct {
	// permits maps the objects watched by name that the user of the Application can read. A missing entry means that
	// the object must be read as that user first.
	permits map[manifest.ID]readPermission
	// lists records the ranges of spec.select that it may list. A missing entry means that the permission must be
	// checked first.
	lists map[listKey]listPermission
}

// matches records the objects that spec.select matched.
type matches struct {
	// selected lists the objects that it matched at the last reconciliation. churn lists the objects that it has
	// stopped matching at least once.
	selected map[manifest.ID]struct{}
	churn    map[manifest.ID]selectionChurn
}

// reportState records what the status still lacks, and the slices with its parts.
type reportState struct {
	// slices lists the existing slices that the Application names or has named.
	slices []string
	// postponed is the report that is not written yet, or nil.
	postponed *pendingReport
	// olderSince is since when older history entries wait to be written. olderWritten is the time of the last
	// attempt to write them.
	olderSince, olderWritten time.Time
}

// readPermission records that the Application's ServiceAccount may read an object, checked for one generation
// of the spec.
type readPermission struct {
	generation int64
	// account is spec.serviceAccountName at the time of the check; empty for the default.
	account string
	uid     string // of the object that was read; empty for none
}

// precedenceWait records since when fields of an object with this UID are left to older Applications.
type precedenceWait struct {
	// generation and uid identify the version of the spec and the object. Another one starts a new wait at since.
	generation int64
	uid        string
	since      time.Time
}

// listPermission records that the Application's ServiceAccount may list the objects in a range, checked for
// one generation of the spec.
type listPermission struct {
	generation int64
	account    string
	// at is the time of the last check.
	at time.Time
	// uids lists the objects that were last in the range.
	uids map[string]struct{}
}

// listKey identifies a range that the ServiceAccount may list.
type listKey struct {
	schema.GroupKind

	// namespace and name are empty for all namespaces, or for more than one object.
	namespace, name string
}

// selectionChurn records how often, and when last, spec.select has stopped matching an object.
type selectionChurn struct {
	// times is the number of departures, left the time of the last one.
	times int
	left  time.Time
}

// failure is a resource whose desired state could not be applied.
type failure struct {
	// problem is the last problem, without the time of the next retry.
	problem *plan.Problem
	// uid is the object that the last attempt was about; empty if there was none.
	uid string
	// attempts is the number of failed attempts, which determines the next wait.
	attempts int
	// until is the time of the next retry. It has no meaning if exhausted is true.
	until time.Time
	// exhausted is true after the last attempt, until something changes.
	exhausted bool
}

// unwatchedObject is an object that was read and is in no watch. It is used until a given time.
type unwatchedObject struct {
	// object includes managedFields. until is when it must be read again.
	object map[string]any
	until  time.Time
}

// NewMemory returns the state of an Application that this process has not reconciled yet. It restores the contests
// from the status. If the status is in slices, restoreContests does that later. The current generation counts as
// known, so a restart does not retry everything.
func NewMemory(app *v1alpha1.Application, now time.Time) *State {
	return &State{
		since: now, generation: app.Generation, request: app.Status.ReconcileRequest, plan: remembered(app),
		recalled: len(app.Status.RecordSlices) == 0, retries: retries{jitter: worker.Jitter},
	}
}

// put sets a key of a map, and creates the map if it is nil.
func put[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

// startReconcile prepares a reconciliation. A new generation of the Application, or a request to reconcile, retries
// everything. Any change retries the resources that were given up. A new namespace retries the resources that wait
// for namespaces. See docs/status.md, "Retries".
func (m *State) startReconcile(app *v1alpha1.Application, news News, now time.Time) {
	m.retry = retryOf(app.Spec.Retry)
	request := app.Annotations[v1alpha1.AnnotationReconcile]
	if request != m.request {
		m.plan.Retry(now)
	}
	if m.generation != app.Generation {
		m.permits, m.lists = nil, nil // of ranges and objects that the spec may no longer name
	}
	if m.generation != app.Generation || m.request != request {
		m.generation, m.request = app.Generation, request
		// The following state depends on the spec, or was requested to be forgotten.
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
	// This must be last: tryAgain has set the rejections that are retried now to a time in the past.
	m.giveUpRefused(now)
}

// restoreContests restores, once, the contests in the status of an Application that is joined with its
// slices.
func (m *State) restoreContests(app *v1alpha1.Application, now time.Time) {
	if m.recalled {
		return
	}
	m.plan, m.recalled = remembered(app), true
	if m.request != app.Status.ReconcileRequest {
		m.plan.Retry(now)
	}
}

// PendingStatus returns the status of the postponed report, or nil. The result shares memory with the State, and is
// valid until the next call of postpone. It unpacks the report, which report packs again.
func (m *State) PendingStatus() *v1alpha1.ApplicationStatus {
	if m.postponed == nil {
		return nil
	}
	return m.postponed.whole()
}

// withPendingStatus returns an Application with the status of the postponed report, or app itself if there is none. It
// copies the Application, because the original is compared with later statuses.
func (m *State) withPendingStatus(app *v1alpha1.Application) *v1alpha1.Application {
	status := m.PendingStatus()
	// A status that still names slices could not be joined. The pending one may record what a user abandons.
	if status == nil || len(app.Status.RecordSlices) > 0 {
		return app
	}
	pending := *app
	pending.Status = *status
	return &pending
}

// remembered returns the contests that the status preserved over a restart. The counts of corrections before a field
// is contested are lost.
func remembered(app *v1alpha1.Application) plan.State {
	m := plan.State{Contests: map[plan.Leaf]*plan.Contest{}}
	for _, f := range app.Status.Contested {
		leaf := plan.Leaf{ID: manifest.IDFromReference(f.Resource), Path: f.Path}
		m.Contests[leaf] = &plan.Contest{
			Corrections: int(f.Corrections), Next: f.NextCorrection.Time, Manager: f.Manager,
			Desired: valueOf(f.Desired), Observed: valueOf(f.Live),
		}
	}
	return m
}

// valueOf decodes a value in the status. It returns an absent value for nil, and also for invalid JSON.
func valueOf(raw *runtime.RawExtension) delta.Value {
	var value any
	if raw == nil || utiljson.Unmarshal(raw.Raw, &value) != nil {
		return delta.Value{}
	}
	return delta.NewValue(value)
}

// failed records that the desired state of a resource cannot be applied now. It returns the problem with the time to
// the next retry, which increases. After the last attempt, it returns the problem without a retry. It does not change
// the given problem. During act, the caller holds outcomeRecorder.mu.
func (m *State) failed(id manifest.ID, problem *plan.Problem, now time.Time) *plan.Problem {
	f := m.failures[id]
	if f == nil {
		f = &failure{}
		put(&m.failures, id, f)
	}
	f.attempts++
	until := now.Add(m.jitter(m.retry.wait(problem, f.attempts)))
	if namespace := problem.Namespace; namespace != "" {
		// All objects of the namespace are retried at the same time. The first one finds out whether the namespace
		// exists.
		if shared := m.missing[namespace]; shared.After(now) {
			until = shared
		}
		put(&m.missing, namespace, until)
	}
	if f.exhausted = m.retry.exhausted(f.attempts); f.exhausted {
		f.attempts = m.retry.attempts // a retry because of a change does not count as an attempt
		f.problem = givenUp(problem, f.attempts)
		return f.problem
	}
	again := *problem
	again.RetryAfter = until.Sub(now)
	f.problem, f.until = problem, until
	return &again
}

// blocked returns the problems of the resources that must not be retried yet, with the remaining time. Resources that
// were given up have no remaining time. The problems are copies.
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

// tryAgain allows one more attempt for the resources that were given up, because something has changed.
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

// forGood is a wait that ends only when something changes.
const forGood = 10 * 365 * 24 * time.Hour

// giveUpRefused defers changes that were rejected at the last attempt, until something changes. It skips rejections
// that are due, because this reconciliation is their last attempt.
func (m *State) giveUpRefused(now time.Time) {
	m.plan.EachRefusal(func(refusal *plan.Rejection) {
		if m.retry.exhausted(refusal.Times) && refusal.Until.After(now) {
			refusal.Until = now.Add(forGood)
		}
	})
}

// nextProbe returns the time until an object that is in no watch must be read again, 0 if there is no such
// object. No watch reports its deletion.
func (m *State) nextProbe(now time.Time) time.Duration {
	var next time.Duration
	for _, f := range m.unwatched {
		next = MinWait(next, max(f.until.Sub(now), time.Second))
	}
	return next
}

// postpone adds a result to the postponed report.
func (m *State) postpone(result plan.Result, now time.Time) {
	if m.postponed == nil {
		m.postponed = &pendingReport{since: now}
	}
	// A later status replaces the earlier one. Events are merged, because each describes only one reconciliation.
	m.postponed.status, m.postponed.content = result.Status, nil
	m.postponed.event = m.postponed.event.Merge(result.Event)
}

// News is the set of changes since the last reconciliation of an Application.
type News struct {
	// Changed: the Application or one of its objects has changed.
	Changed bool
	// Namespace: a namespace that the Application waits for was created.
	Namespace bool
	// Orphan: a version of the Application has requested to orphan its objects (kubectl delete
	// --cascade=orphan), even if the current version no longer does.
	Orphan bool
}
