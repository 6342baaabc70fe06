package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

// Reconcile brings one Application's objects to their desired state: it gathers, decides, acts and reports. It
// returns when to reconcile again, 0 for when something changes. It returns 0 and no error also while a first list is
// not complete: the watch then queues the Application.
//
// app is a version from the store and is not changed. m is the State from the previous call for the same UID, and is
// changed. A problem of a single resource is no error: it is reported in the status, with the time of its next retry.
func (r *Reconciler) Reconcile(ctx context.Context, app *v1alpha1.Application, m *State, news News) (time.Duration, error) {
	after, err := r.reconcileSafely(ctx, app, m, news)
	if len(app.Unknown) > 0 {
		return after, err // an unknown field may name slices
	}
	left, collectErr := r.Collect(ctx, store.Key(app), m) // a slice that is being deleted may be the cause of err
	if err != nil {
		return 0, err
	}
	return MinWait(after, left), collectErr
}

// reconcileSafely calls reconcile, and converts a panic to an error, so that the status does not continue to report
// that all fields are held.
func (r *Reconciler) reconcileSafely(ctx context.Context, app *v1alpha1.Application, m *State, news News) (after time.Duration, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = worker.PanicError(ctx, panicked)
			problem := &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: err.Error() + ": the Application is not reconciled until this bug is fixed. " +
				"The log of the controller contains the stack trace: please report it"}
			refused := plan.NewInvalid(plan.Input{Application: m.withPendingStatus(app), Memory: &m.plan, Observations: plan.Observations{StaleKinds: []*plan.Problem{problem}}}, problem)
			if _, failed := r.report(ctx, app, m, refused, nil); failed != nil {
				err = errors.Join(err, failed)
			}
		}
	}()
	return r.reconcile(ctx, app, m, news)
}

// reconcile executes the steps of Reconcile, except the collection of slices. The order of the checks matters. A spec
// with unknown fields is not read any further, not even for a deletion, because an unknown field may forbid it.
// Slices are joined before anything reads the manifests or the inventory, because missing parts must never count as
// empty.
func (r *Reconciler) reconcile(ctx context.Context, app *v1alpha1.Application, m *State, news News) (time.Duration, error) {
	m.startReconcile(app, news, r.Now())
	app, err := r.rememberOrphan(ctx, app, news)
	if err != nil {
		return Again(err)
	}
	leave, err := r.Room.enter(ctx, app)
	if err != nil {
		return 0, err
	}
	defer leave()
	app, err = r.Room.join(ctx, app, sliceStore{r.Slices})
	if problem, ok := errors.AsType[*plan.Problem](err); ok {
		return r.reject(ctx, app, m, problem)
	}
	if err != nil {
		return Again(err)
	}
	// Only the joined status lists all contests.
	m.restoreContests(app, r.Now())
	target, err := r.Target(app)
	if err != nil { // the controller cannot act as that ServiceAccount
		return r.reject(ctx, app, m, &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "spec.serviceAccountName: " + err.Error()})
	}
	if app.DeletionTimestamp != nil {
		target.AwaitNamespaces(nil)
		return r.finalize(ctx, app, m, target)
	}
	if err := r.Hooks.ApplicationPreReconcile.Run(&hooks.Lifecycle{Application: app}); err != nil {
		return r.hookFailed(ctx, app, m, err)
	}
	source := r.source(ctx, app, target)
	// The goroutine that renews the source queues the Application when it has a result.
	if source.Waiting {
		return 0, nil
	}
	s, p, err := Decide(ctx, target, r.request(app, m, target, source.Translation))
	if errors.Is(err, ErrNotSeen) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	after, err := r.execute(ctx, target, s, p)
	if err != nil {
		return 0, err
	}
	// A poll that is overdue must not become 0, which would mean no wait.
	if !source.Poll.IsZero() {
		after = MinWait(after, max(source.Poll.Sub(r.Now()), time.Millisecond))
	}
	// No change would report that the kind can be read again.
	if problem := s.unannounced(); problem != nil && problem.RetryAfter > 0 {
		after = MinWait(after, problem.RetryAfter)
	}
	return after, nil
}

// join returns an Application that can be read: it is joined with its slices, as far as possible. The error is a
// *plan.Problem if the Application must not be read any further. One that takes too much memory has no manifests while
// it is deleted, because the inventory is sufficient.
func (r Room) join(ctx context.Context, app *v1alpha1.Application, s sliceStore) (*v1alpha1.Application, error) {
	if unsupported := intent.UnsupportedProblem(app); unsupported != nil { // also of an Application that is being deleted
		return app, unsupported
	}
	app, err := s.join(ctx, app)
	if err != nil {
		return app, err
	}
	excess := r.problem(app)
	switch {
	case excess == nil:
		return app, nil
	case app.DeletionTimestamp == nil:
		return app, excess
	}
	rest := *app
	rest.Spec.Manifest, rest.Spec.ObserverSchema = nil, nil
	return &rest, nil
}

// execute executes a plan and reports the result. If one of the writes before act fails, it returns without a write
// to any object. Each of these writes returns a newer version of the Application, which the next write is based on.
func (r *Reconciler) execute(ctx context.Context, target Target, s *Snapshot, p *plan.Plan) (time.Duration, error) {
	app, m := s.Input.Application, s.memory
	if p.IsNoOp() || p.Invalid != nil {
		target.AwaitNamespaces(nil)
		s.markProcessed(target)
		now := r.Now()
		p, result := s.summarize(ctx, target, app, p, nil, now)
		return r.reportResult(ctx, app, m, p, nil, result, now)
	}
	app, err := r.recordPostponed(ctx, app, m)
	if err != nil {
		return Again(err)
	}
	if app, err = r.protect(ctx, app, p, s); err != nil {
		return Again(err)
	}
	if app, err = r.recordAhead(ctx, app, p); err != nil {
		return Again(err)
	}
	a := r.act(ctx, target, s, p)
	target.AwaitNamespaces(m.awaited(app.Namespace, p))
	// recordTokens has written the status, so the older version would cause a conflict.
	if a.tokensRecorded {
		app = r.applications().Latest(app)
	}
	// The outcomes of act depend on the recorded writes, so they are dropped only now.
	s.markProcessed(target)
	now := r.Now()
	p, result := s.summarize(ctx, target, app, p, a.result, now)
	after, err := r.reportResult(ctx, app, m, p, a.result, result, now)
	// act stopped before the workloads, and must be repeated.
	if err == nil && a.tokensErr != nil {
		return Again(a.tokensErr)
	}
	return after, err
}

// longestUnseen is how long a watch may not show an object that a process requested before it died. The API
// server aborts a request after a minute (its --request-timeout), and a stalled watch is detected after at
// most 80 seconds.
const longestUnseen = time.Minute + 80*time.Second

// protect writes the write-ahead record before the first write of a plan, unless the Application already has it. With
// the finalizer, the Application cannot be deleted without the controller. With the annotations, its kinds are known
// if the process dies before it writes the status. A kind that is already named is kept for some time: a previous
// process may have died while it created objects, and they may not be visible yet.
//
// protect returns the written version, or app if nothing was written.
func (r *Reconciler) protect(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, s *Snapshot) (*v1alpha1.Application, error) {
	if !p.HasWork() {
		return app, nil
	}
	early := r.Now().Before(s.memory.since.Add(longestUnseen)) || s.unannounced() != nil
	// A status that could not be written is postponed, too. The objects that only it lists must remain named.
	marks := ahead(app, p, early, early || s.memory.postponed != nil)
	finalizers := app.Finalizers
	if !slices.Contains(finalizers, v1alpha1.Finalizer) {
		finalizers = append(slices.Clone(finalizers), v1alpha1.Finalizer)
	}
	if len(marks) == 0 && len(finalizers) == len(app.Finalizers) {
		return app, nil
	}
	return r.applications().WriteMetadata(ctx, app, finalizers, marks)
}

// Ahead returns the annotations that an Application can be created with, in addition to the finalizer. Then nothing
// must be written before its first objects are created. It returns nil if the plan is invalid or writes nothing.
// `holdfast submit` uses it, in a create only: see docs/design.md, "Decisions".
func Ahead(p *plan.Plan, app *v1alpha1.Application) map[string]string {
	if p.Invalid != nil || !p.HasWork() {
		return nil
	}
	return ahead(app, p, true, true)
}

// ahead returns the annotations that must change before a plan is executed, with their new values. It returns an
// empty map if the Application has them. early keeps the kinds and namespaces that the annotations already name, keep
// the objects. Without them, an annotation shrinks to the current plan and inventory.
func ahead(app *v1alpha1.Application, p *plan.Plan, early, keep bool) map[string]string {
	gvks := sets.New[schema.GroupVersionKind]()
	for _, change := range p.Changes {
		gvks.Insert(change.GVK())
	}
	// Objects of these kinds may have to be deleted after a restart.
	gvks.Insert(kindsInInventory(app)...)
	if early {
		gvks.Insert(announced(app)...)
	}
	marks := map[string]string{}
	if kinds := kindsAnnotation(gvks); kinds != app.Annotations[v1alpha1.AnnotationKinds] {
		marks[v1alpha1.AnnotationKinds] = kinds
	}
	if namespaces := namespacesAnnotation(app, p, early); namespaces != app.Annotations[v1alpha1.AnnotationNamespaces] {
		marks[v1alpha1.AnnotationNamespaces] = namespaces
	}
	if creating, changed := p.PendingCreates(keep); changed {
		marks[v1alpha1.AnnotationCreating] = creating
	}
	return marks
}

// recordPostponed writes a postponed status, unless it can wait. Only this process knows its content, and the
// following work depends on it. It returns the written version, or app if nothing was written.
func (r *Reconciler) recordPostponed(ctx context.Context, app *v1alpha1.Application, m *State) (*v1alpha1.Application, error) {
	status := m.PendingStatus()
	if status == nil || delayOf(app.Status, *status) > 0 {
		return app, nil
	}
	if err := r.WriteStatus(ctx, app, *status); err != nil {
		return nil, err
	}
	r.applications().Announce(app, m.postponed.event)
	m.postponed = nil
	return r.applications().Latest(app), nil
}

// recordAhead records the fields that are about to be written, if they would be unknown after a crash. These are
// fields that a patch adds to an existing object: without the record, the next process could not remove them. It
// returns the written version, or app if nothing was written.
func (r *Reconciler) recordAhead(ctx context.Context, app *v1alpha1.Application, p *plan.Plan) (*v1alpha1.Application, error) {
	status := p.WriteAheadStatus()
	if status == nil {
		return app, nil
	}
	if err := r.WriteStatus(ctx, app, *status); err != nil {
		return nil, err
	}
	return r.applications().Latest(app), nil
}

// rememberOrphan records, before any other step, that the objects of an Application that is being deleted are
// orphaned. The garbage collector removes the finalizer that requests this, so a later process could not know it. It
// returns the written version, or app if nothing was written.
func (r *Reconciler) rememberOrphan(ctx context.Context, app *v1alpha1.Application, news News) (*v1alpha1.Application, error) {
	if _, known := app.Annotations[v1alpha1.AnnotationOrphan]; known || !news.Orphan && !plan.RequestsOrphan(app) || !slices.Contains(app.Finalizers, v1alpha1.Finalizer) {
		return app, nil
	}
	return r.applications().WriteMetadata(ctx, app, app.Finalizers, map[string]string{v1alpha1.AnnotationOrphan: "true"})
}
