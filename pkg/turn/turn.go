package turn

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Turns take turns of Applications.
type Turns struct {
	Home Home
	// Target is the cluster that an Application's objects are in, as its ServiceAccount
	// writes it.
	Target func(app *v1alpha1.Application) (Target, error)
	// Source finds what the template or archive of an Application was translated into;
	// nil: there are none.
	Source func(ctx context.Context, app *v1alpha1.Application, target Target) Source
	// BeforeDeletes is asked, again and again, whether the resources of an Application
	// that is being deleted may be deleted now; nil: they may. When to ask again, 0 for
	// when something changes, is returned with it.
	BeforeDeletes func(ctx context.Context, app *v1alpha1.Application, target Target, live map[manifest.ID]map[string]any) (over bool, after time.Duration, err error)
	Hooks         *hooks.Hooks
	Callback      func() hooks.Callback
	Rules         plan.Rules
	// Now is the clock.
	Now func() time.Time
	// Sleep waits; nil for the real clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// InFlight is how many requests are sent at a time for one Application; 0: 16. With
	// one, all is done on the caller's goroutine.
	InFlight int
}

// Source is what a template was translated into.
type Source struct {
	// Made is nil for spec.manifest, and while nothing is known that may be acted on.
	Made *plan.Source
	// Poll is when to look at the source again; zero: never.
	Poll time.Time
	// Waiting is true while nothing can be decided.
	Waiting bool
}

// Take brings one Application's objects to their desired state: gather, decide, act,
// conclude. It returns when to do so again, 0 for when something changes. changed says
// that something has, since the last turn.
func (t *Turns) Take(ctx context.Context, app *v1alpha1.Application, m *Memory, changed bool) (time.Duration, error) {
	m.begin(app, changed, t.now())
	target, err := t.Target(app)
	if err != nil {
		return 0, err
	}
	if app.DeletionTimestamp != nil {
		return t.finalize(ctx, app, m, target)
	}
	if err := t.Hooks.ApplicationPreReconcile.Run(&hooks.Lifecycle{Application: app}); err != nil {
		return t.hookFailed(ctx, app, m, err)
	}
	source := t.source(ctx, app, target)
	if source.Waiting {
		return 0, nil
	}
	s, p, err := Decide(ctx, target, t.request(app, m, source.Made))
	if errors.Is(err, ErrNotSeen) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	after, err := t.execute(ctx, target, s, p)
	if err != nil {
		return 0, err
	}
	if !source.Poll.IsZero() {
		after = Sooner(after, max(source.Poll.Sub(t.now()), time.Millisecond))
	}
	if problem := s.unannounced(); problem != nil && problem.RetryAfter > 0 {
		after = Sooner(after, problem.RetryAfter)
	}
	return after, nil
}

func (t *Turns) source(ctx context.Context, app *v1alpha1.Application, target Target) Source {
	if t.Source == nil {
		return Source{}
	}
	return t.Source(ctx, app, target)
}

func (t *Turns) request(app *v1alpha1.Application, m *Memory, source *plan.Source) Request {
	r := Request{Application: app, Source: source, Memory: m, Hooks: t.Hooks, Rules: t.Rules, Now: t.now()}
	if t.Callback != nil {
		r.Callback = t.Callback()
	}
	return r
}

// execute acts on a plan and reports.
func (t *Turns) execute(ctx context.Context, target Target, s *Snapshot, p *plan.Plan) (time.Duration, error) {
	app, m := s.Input.Application, s.memory
	if p.Suspended() || p.Refused != nil {
		return t.report(ctx, app, m, p, nil)
	}
	app, err := t.protect(ctx, app, p, s)
	if err != nil {
		return Again(err)
	}
	if app, err = t.recordAhead(ctx, app, p); err != nil {
		return Again(err)
	}
	a := t.act(ctx, target, s, p)
	if a.toldTokens {
		app = t.Home.Latest(app)
	}
	after, err := t.report(ctx, app, m, p, a.result)
	if err == nil && a.untold != nil {
		return Again(a.untold)
	}
	return after, err
}

// longestRequest is how long a request of a process that has died may still be on its
// way: after a minute the API server gives up (its --request-timeout).
const longestRequest = time.Minute

// protect makes sure, before the first write of a plan, that the Application
// cannot go without us, and that its kinds are known should we die before the
// status is written. A kind that is named already stays for a while: of what a process
// before us was about to create when it died, nothing may be seen yet.
func (t *Turns) protect(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, s *Snapshot) (*v1alpha1.Application, error) {
	if !p.HasWork() {
		return app, nil
	}
	gvks := map[schema.GroupVersionKind]struct{}{}
	for _, change := range p.Changes {
		gvks[change.GVK()] = struct{}{}
	}
	for _, r := range app.Status.Resources {
		gvks[schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)] = struct{}{}
	}
	early := t.now().Before(s.memory.since.Add(longestRequest)) || s.unannounced() != nil
	if early {
		for _, gvk := range announced(app) {
			gvks[gvk] = struct{}{}
		}
	}
	marks := map[string]string{v1alpha1.AnnotationKinds: kindsAnnotation(gvks)}
	if namespaces := namespacesAnnotation(app, p, early); namespaces != app.Annotations[v1alpha1.AnnotationNamespaces] {
		marks[v1alpha1.AnnotationNamespaces] = namespaces
	}
	if creating, changed := p.Creating(); changed {
		marks[v1alpha1.AnnotationCreating] = creating
	}
	if slices.Contains(app.Finalizers, v1alpha1.Finalizer) && len(marks) == 1 &&
		app.Annotations[v1alpha1.AnnotationKinds] == marks[v1alpha1.AnnotationKinds] {
		return app, nil
	}
	finalizers := app.Finalizers
	if !slices.Contains(finalizers, v1alpha1.Finalizer) {
		finalizers = append(slices.Clone(finalizers), v1alpha1.Finalizer)
	}
	return t.Home.WriteMetadata(ctx, app, finalizers, marks)
}

// recordAhead writes down what is about to be written, where nobody would know of
// it should we die in between.
func (t *Turns) recordAhead(ctx context.Context, app *v1alpha1.Application, p *plan.Plan) (*v1alpha1.Application, error) {
	status := p.Ahead()
	if status == nil {
		return app, nil
	}
	if err := t.WriteStatus(ctx, app, *status); err != nil {
		return nil, err
	}
	return t.Home.Latest(app), nil
}

// hookFailed reports that a hook keeps an Application from being handled, and has
// it tried again.
func (t *Turns) hookFailed(ctx context.Context, app *v1alpha1.Application, m *Memory, cause error) (time.Duration, error) {
	p := plan.Refuse(plan.Input{Application: app, Memory: &m.plan}, plan.HookProblem(cause))
	if _, err := t.report(ctx, app, m, p, nil); err != nil {
		return 0, err
	}
	return 0, cause
}

func (t *Turns) now() time.Time { return t.Now() }

func (t *Turns) inFlight() int {
	if t.InFlight > 0 {
		return t.InFlight
	}
	return inFlight
}

// sleep waits, or returns why it stopped waiting.
func (t *Turns) sleep(ctx context.Context, d time.Duration) error {
	if t.Sleep != nil {
		return t.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Again retries a conflict at once and in silence: the newer version is already
// on its way.
func Again(err error) (time.Duration, error) {
	if apierrors.IsConflict(err) {
		return 10 * time.Millisecond, nil
	}
	if apierrors.IsNotFound(err) {
		return 0, nil // gone; the watch will say so
	}
	return 0, err
}

// Sooner is the smaller of two waits, where 0 is no wait at all.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
