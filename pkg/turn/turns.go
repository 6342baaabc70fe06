package turn

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

// Reconciler take turns of Applications.
type Reconciler struct {
	Home ApplicationClient
	// Slices have what is too large for an Application; nil: nothing is.
	Slices Slices
	// MaxBytes is how large an Application may be before its record is put into slices; 0:
	// as large as the API server stores one.
	MaxBytes int
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
	Rules         plan.ContestPolicy
	// Users are who wrote versions of objects, as far as audit events have told. When they
	// tell more, the Application is to be handled again. nil: there are none.
	Users func(app *v1alpha1.Application, wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User
	// Older are the older Applications that share an object, too, and have not decided about
	// that version of it, or a later one, by namespace/name. nil: there are none.
	Older func(app *v1alpha1.Application, id manifest.ID, version string) []string
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
	// Translation is nil for spec.manifest, and while nothing is known that may be acted on.
	Translation *plan.Source
	// Poll is when to look at the source again; zero: never.
	Poll time.Time
	// Waiting is true while nothing can be decided.
	Waiting bool
}

func (t *Reconciler) source(ctx context.Context, app *v1alpha1.Application, target Target) Source {
	if t.Source == nil {
		return Source{}
	}
	return t.Source(ctx, app, target)
}

func (t *Reconciler) request(app *v1alpha1.Application, m *State, target Target, source *plan.Source) Request {
	r := Request{Application: app, Source: source, Memory: m, Hooks: t.Hooks, Rules: t.Rules, Now: t.now(), Shared: target.Shared, MayList: target.MayList}
	if t.Callback != nil {
		r.Callback = t.Callback()
	}
	if t.Older != nil {
		r.Older = func(id manifest.ID, version string) []string { return t.Older(app, id, version) }
	}
	r.Holder = t.holder
	if t.Users != nil {
		r.Users = func(wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User {
			return t.Users(app, wanted)
		}
	}
	return r
}

// holder returns another Application by its namespace/name; nil if there is none.
func (t *Reconciler) holder(ctx context.Context, name string, read bool) (*v1alpha1.Application, error) {
	key := &v1alpha1.Application{}
	key.Namespace, key.Name, _ = strings.Cut(name, "/")
	if !read {
		if latest := t.Home.Latest(key); latest.UID != "" {
			return latest, nil
		}
		return nil, nil
	}
	holder, err := t.Home.Read(ctx, key)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return holder, err
}

func (t *Reconciler) now() time.Time { return t.Now() }

// inFlight is how many requests are sent at a time for one Application.
func (t *Reconciler) inFlight() int {
	if t.InFlight > 0 {
		return t.InFlight
	}
	return 16
}

// sleep waits, or returns why it stopped waiting.
func (t *Reconciler) sleep(ctx context.Context, d time.Duration) error {
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

// Again retries a conflict soon and in silence: the newer version is already
// on its way.
func Again(err error) (time.Duration, error) {
	if apierrors.IsConflict(err) {
		return 0, worker.ErrOutdated
	}
	if apierrors.IsNotFound(err) {
		return 0, nil // gone; the watch will say so
	}
	return 0, err
}
