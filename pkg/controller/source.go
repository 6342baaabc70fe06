package controller

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
)

// firstFetchRetry is the wait after the first failed fetch. The wait doubles with each failure, up to the
// interval.
const firstFetchRetry = 5 * time.Second

// renewals limits how many sources are fetched and translated at the same time.
var renewals = source.NewSlots(16, 4)

// sourceRenewer keeps the translations of templates and archives up to date. A worker never waits for a server: a
// goroutine per renewal fetches and translates the source, and then queues the Application. At most one renewal of an
// Application runs at a time.
type sourceRenewer struct {
	registry *registry
	fetcher  source.Fetcher
	// hooks have listeners that may change translated manifests.
	hooks *hooks.Hooks
	// maxDecoded is the memory that the manifests of a translation may take.
	maxDecoded int
	// interval is the time between two polls without spec.interval.
	interval time.Duration
	now      func() time.Time
}

// source returns the translation of an Application's template or archive. It returns none for spec.manifest, or as
// long as there is no translation that the controller may act on. For an Application that is being deleted, it
// returns the last translation and renews nothing. It implements Reconciler.Source, and is called on the worker of
// the Application.
func (s *sourceRenewer) source(ctx context.Context, app *v1alpha1.Application, target reconcile.Target) reconcile.Source {
	m := s.registry.memory(app.UID)
	if m == nil {
		return reconcile.Source{Waiting: true} // the Application was deleted
	}
	if !intent.IsTranslated(app) {
		m.translated = nil
		return reconcile.Source{}
	}
	deleting := app.DeletionTimestamp != nil
	if !deleting {
		m.translated = s.renewed(ctx, app, m.translated, target)
	}
	t := m.translated
	if !deleting && !t.usable(app) {
		return reconcile.Source{Waiting: true}
	}
	if t == nil || t.translation == nil {
		return reconcile.Source{}
	}
	result := reconcile.Source{Translation: t.translation}
	// While a renewal runs, its goroutine queues the Application.
	if t.coming == nil {
		result.Poll = t.next
	}
	return result
}

// renewed returns the newest translation, and starts to renew it in another goroutine if that is due. While that
// goroutine runs, it returns the previous translation, whose coming is set. The context must outlive the reconcile.
func (s *sourceRenewer) renewed(ctx context.Context, app *v1alpha1.Application, t *translation, target reconcile.Target) *translation {
	if t != nil && t.coming != nil {
		select {
		case t = <-t.coming:
		default:
			return t
		}
	}
	if t.fresh(app, s.now()) {
		return t
	}
	// A copy, because the goroutine reads the previous translation.
	meanwhile := *cmp.Or(t, &translation{})
	meanwhile.coming = make(chan *translation, 1)
	go func() {
		meanwhile.coming <- s.renew(ctx, app, target, t)
		s.registry.queue.Add(store.Key(app))
	}()
	return &meanwhile
}

// fresh reports whether a translation does not need to be renewed yet. After a problem, every change of the spec
// requires a renewal, because it may be the solution. It accepts nil.
func (t *translation) fresh(app *v1alpha1.Application, now time.Time) bool {
	return t.usable(app) && (t.translation.Problem == nil || t.app.Generation == app.Generation) &&
		(t.next.IsZero() || now.Before(t.next))
}

// usable reports whether a translation is of the Application's current source, and no older than the last reconcile
// request. It accepts nil.
func (t *translation) usable(app *v1alpha1.Application) bool {
	return t.lasts(app) && t.request == app.Annotations[v1alpha1.AnnotationReconcile]
}

// lasts reports whether a translation is of the Application's current source, so that it remains valid if
// it is good. A translation that was restored from the status is valid for only one generation of the spec.
func (t *translation) lasts(app *v1alpha1.Application) bool {
	return t != nil && t.translation != nil && source.IsSame(t.app, app) && (!t.translation.Restored || t.app.Generation == app.Generation)
}

// renew waits for a free slot, and then reads and translates the source. It always returns a translation, also after
// a panic, because the Application waits for it. It does not change before, which can be nil.
func (s *sourceRenewer) renew(ctx context.Context, app *v1alpha1.Application, target reconcile.Target, before *translation) (t *translation) {
	t = &translation{app: app, request: app.Annotations[v1alpha1.AnnotationReconcile]}
	if before != nil {
		t.material = before.material
	}
	defer func() {
		if r := recover(); r != nil {
			s.settle(t, before, &intent.Source{Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: worker.PanicError(ctx, r).Error()}})
		}
	}()
	if release, err := renewals.Acquire(ctx, app.Namespace); err == nil {
		defer release()
	}
	s.settle(t, before, s.translate(ctx, app, target, t, before))
	return t
}

// translate gathers the source, and translates it unless it is unchanged. It stores the gathered material in t. If
// the source cannot be read or translated, the result contains a Problem.
func (s *sourceRenewer) translate(ctx context.Context, app *v1alpha1.Application, target reconcile.Target, t, before *translation) *intent.Source {
	material, problem := source.Gather(ctx, app, reader{target, app.Namespace}, s.fetcher, t.material)
	if problem != nil {
		return &intent.Source{Problem: problem}
	}
	unchanged := before != nil && before.translation != nil && before.translation.Problem == nil && material.IsUnchanged(before.material)
	t.material, material.MaxDecoded = material, s.maxDecoded
	if unchanged {
		return before.translation
	}
	return source.Translate(ctx, material, s.fetcher, s.hooks)
}

// settle sets the translation of t that is in effect from now on, and the time of the next poll. While a source
// cannot be fetched or translated, its last good translation remains in effect: the cached one, or else the one in
// the status. It then contains the Problem, which the status reports.
func (s *sourceRenewer) settle(t, before *translation, translation *intent.Source) {
	t.translation = translation
	if translation.Problem == nil {
		if !t.material.IsStatic() {
			t.next = s.nextPoll(t.app, 0)
		}
		return
	}
	problem := *translation.Problem
	// A copy, because other translations may share the Problem.
	problem.Message, problem.Remedy = problem.Error(), v1alpha1.Remedy{}
	t.translation, t.failures = &intent.Source{Problem: &problem}, 1
	if before.lasts(t.app) {
		kept := *before.translation
		kept.Problem = &problem
		t.translation, t.failures = &kept, before.failures+1
	} else if restored := record.Translation(t.app); restored != nil {
		restored.Problem = &problem
		t.translation = restored
	}
	if t.translation.Objects == nil && len(t.app.Status.Resources) > 0 {
		problem.Message += "\nUntil then nothing is created, corrected or deleted"
	}
	if problem.Disposition() == v1alpha1.DispositionEdit && t.material != nil && t.material.IsStatic() {
		return // another attempt would fail, too
	}
	t.next = s.nextPoll(t.app, t.failures)
}

// nextPoll returns the time of the next poll of a source: after the interval, or earlier after a failure. failures is
// the number of consecutive failures, 0 after a success. The time is up to 10% earlier at random, so that not all
// sources are polled at the same moment.
func (s *sourceRenewer) nextPoll(app *v1alpha1.Application, failures int) time.Time {
	wait := s.interval
	if app.Spec.Interval != nil {
		wait = app.Spec.Interval.Duration
	}
	if failures > 0 {
		wait = min(firstFetchRetry<<min(failures-1, 10), wait)
	}
	wait -= time.Duration(rand.Int64N(int64(wait)/10 + 1))
	return s.now().Add(wait)
}

// reader reads with the permissions of an Application's ServiceAccount.
type reader struct {
	target    reconcile.Target
	namespace string
}

// Read reads a ConfigMap or Secret in the Application's namespace. It returns a Problem if the object does not exist
// or may not be read.
func (r reader) Read(ctx context.Context, kind, name string) (map[string]any, *plan.Problem) {
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	at := cluster.Location{ID: manifest.ID{Kind: kind, Namespace: r.namespace, Name: name}}
	mapping, err := r.target.Mapping(ctx, schema.GroupVersionKind{Version: "v1", Kind: kind})
	if err != nil {
		return nil, r.target.Problem(err, at, "get")
	}
	at.Mapping = mapping
	object, err := r.target.Get(ctx, at)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: fmt.Sprintf("%s does not exist", at.ID)}
	case err != nil:
		return nil, r.target.Problem(err, at, "get")
	}
	return object, nil
}
