package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/turn"
	"holdfast.dev/holdfast/pkg/worker"
)

// firstFetchRetry is how long to wait after a fetch has failed once; the wait
// doubles, up to the interval.
const firstFetchRetry = 5 * time.Second

// renewals bounds how many sources are fetched and translated at the same time.
var renewals = source.NewSlots(16, 4)

// source finds what the template or archive of an Application was translated into; there
// is none for its own manifests, and while nothing is known yet that may be acted on.
func (c *Controller) source(ctx context.Context, app *v1alpha1.Application, target turn.Target) turn.Source {
	c.mu.Lock()
	m := c.memories[app.UID]
	c.mu.Unlock()
	if m == nil {
		return turn.Source{Waiting: true} // the Application has gone
	}
	if !source.IsUsed(app) {
		m.translated = nil
		return turn.Source{}
	}
	deleting := app.DeletionTimestamp != nil
	if !deleting {
		m.translated = c.renewed(ctx, app, m.translated, target)
	}
	t := m.translated
	if !deleting && !t.usable(app) {
		return turn.Source{Waiting: true}
	}
	if t == nil || t.translation == nil {
		return turn.Source{}
	}
	result := turn.Source{Translation: t.translation}
	if t.coming == nil {
		result.Poll = t.next
	}
	return result
}

// renewed takes over what has come, and has the source looked at if it is time.
func (c *Controller) renewed(ctx context.Context, app *v1alpha1.Application, t *translation, target turn.Target) *translation {
	if t != nil && t.coming != nil {
		select {
		case t = <-t.coming:
		default:
			return t
		}
	}
	if t.fresh(app, c.options.Now()) {
		return t
	}
	meanwhile := translation{coming: make(chan *translation, 1)}
	if t != nil {
		meanwhile = *t
		meanwhile.coming = make(chan *translation, 1)
	}
	go func() {
		meanwhile.coming <- c.renew(ctx, app, target, t)
		c.queue.Add(keyOf(app))
	}()
	return &meanwhile
}

// fresh reports whether a translation is still the one to use. After a problem,
// any change of the Application may be the solution.
func (t *translation) fresh(app *v1alpha1.Application, now time.Time) bool {
	return t.usable(app) && (t.translation.Problem == nil || t.app.Generation == app.Generation) &&
		(t.next.IsZero() || now.Before(t.next))
}

// usable reports whether a translation is that of the Application's source, looked
// at no earlier than it was asked for.
func (t *translation) usable(app *v1alpha1.Application) bool {
	return t.lasts(app) && t.request == app.Annotations[v1alpha1.AnnotationReconcile]
}

// lasts reports whether a translation, if it is good, stays in force: the source is the
// same. One that was restored is of one version of the spec only.
func (t *translation) lasts(app *v1alpha1.Application) bool {
	return t != nil && t.translation != nil && source.IsSame(t.app, app) && (!t.translation.Restored || t.app.Generation == app.Generation)
}

// renew looks at the source, when it has its turn.
func (c *Controller) renew(ctx context.Context, app *v1alpha1.Application, target turn.Target, before *translation) (t *translation) {
	t = &translation{app: app, request: app.Annotations[v1alpha1.AnnotationReconcile]}
	if before != nil {
		t.material = before.material
	}
	defer func() {
		if r := recover(); r != nil {
			c.settle(t, before, &plan.Source{Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: worker.PanicError(ctx, r).Error()}})
		}
	}()
	if release, err := renewals.Acquire(ctx, app.Namespace); err == nil {
		defer release()
	}
	c.settle(t, before, c.translate(ctx, app, target, t, before))
	return t
}

// translate translates the source if it is another one than before.
func (c *Controller) translate(ctx context.Context, app *v1alpha1.Application, target turn.Target, t, before *translation) *plan.Source {
	material, problem := source.Gather(ctx, app, reader{target, app.Namespace}, c.options.Fetcher, t.material)
	if problem != nil {
		return &plan.Source{Problem: problem}
	}
	unchanged := before != nil && before.translation != nil && before.translation.Problem == nil && material.IsUnchanged(before.material)
	t.material = material
	if unchanged {
		return before.translation
	}
	return source.Translate(ctx, material, c.options.Fetcher, c.options.Hooks)
}

// settle decides what holds from now on, and when to look again. While a source
// cannot be had or translated, the last good translation of it stays in force: that
// which is remembered, or else what the status has of it.
func (c *Controller) settle(t, before *translation, translation *plan.Source) {
	t.translation = translation
	if translation.Problem == nil {
		if !t.material.IsStatic() {
			t.next = c.nextPoll(t.app, 0)
		}
		return
	}
	problem := *translation.Problem
	problem.Message, problem.Remedy = problem.Error(), v1alpha1.Remedy{}
	t.translation, t.failures = &plan.Source{Problem: &problem}, 1
	if before.lasts(t.app) {
		kept := *before.translation
		kept.Problem = &problem
		t.translation, t.failures = &kept, before.failures+1
	} else if restored := plan.Restored(t.app); restored != nil {
		restored.Problem = &problem
		t.translation = restored
	}
	if t.translation.Objects == nil && len(t.app.Status.Resources) > 0 {
		problem.Message += "\nUntil then nothing is created, corrected or deleted"
	}
	if problem.Disposition() == v1alpha1.DispositionEdit && t.material != nil && t.material.IsStatic() {
		return // it would fail again
	}
	t.next = c.nextPoll(t.app, t.failures)
}

// nextPoll is when to look at a source again: after the interval, or earlier if
// it has failed; and not at all of them at the same moment.
func (c *Controller) nextPoll(app *v1alpha1.Application, failures int) time.Time {
	wait := c.options.SourceInterval
	if app.Spec.Interval != nil {
		wait = app.Spec.Interval.Duration
	}
	if failures > 0 {
		wait = min(firstFetchRetry<<min(failures-1, 10), wait)
	}
	wait -= time.Duration(rand.Int64N(int64(wait)/10 + 1))
	return c.options.Now().Add(wait)
}

// reader reads with the rights of an Application's ServiceAccount.
type reader struct {
	target    turn.Target
	namespace string
}

// Read reads a ConfigMap or Secret.
func (r reader) Read(ctx context.Context, kind, name string) (map[string]any, *plan.Problem) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
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
		return nil, &plan.Problem{Reason: v1alpha1.ReasonFetchFailed, Message: fmt.Sprintf("%s is not there", at.ID)}
	case err != nil:
		return nil, r.target.Problem(err, at, "get")
	}
	return object, nil
}

// requestTimeout bounds one request.
const requestTimeout = 30 * time.Second
