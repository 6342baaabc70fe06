package reconcile

import (
	"cmp"
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/worker"
)

// Reconciler reconciles Applications. Its fields must not change after the first call of Reconcile. Its functions may
// be called by several goroutines for different Applications, so all functions in its fields must be safe for that.
type Reconciler struct {
	// Applications accesses the API server that stores the Applications. Most code uses applications() instead, which
	// joins and splits slices.
	Applications ApplicationClient
	// Slices stores the parts that are too large for an Application; nil: nothing is stored in slices.
	Slices Slices
	// MaxBytes is the size of an Application above which its record is stored in slices; 0: the maximum that
	// the API server stores.
	MaxBytes int
	// Room bounds the memory of manifests and schemas.
	Room Room
	// Target returns the cluster of an Application's objects, with the rights of its ServiceAccount.
	Target func(app *v1alpha1.Application) (Target, error)
	// Source returns the translation of an Application's template or archive; nil: there are none.
	Source func(ctx context.Context, app *v1alpha1.Application, target Target) Source
	// BeforeDeletes reports whether the resources of an Application that is being deleted may be deleted now;
	// nil: they may. It is called repeatedly. after is when to call it again, 0 for when something changes.
	BeforeDeletes func(ctx context.Context, app *v1alpha1.Application, target Target, live map[manifest.ID]map[string]any) (over bool, after time.Duration, err error)
	// Hooks are the listeners; never nil. See docs/hooks.md.
	Hooks *hooks.Hooks
	// Callback returns how workloads reach the callback server; nil if there is none. It is called for each
	// reconciliation, because the address and the certificate can change.
	Callback func() hooks.Callback
	// Rules define when a field is contested.
	Rules plan.ContestPolicy
	// Users returns the users who wrote versions of objects, as far as audit events have identified them.
	// When more audit events arrive, the Application must be reconciled again. nil: there are none.
	Users func(app *v1alpha1.Application, wanted []v1alpha1.ObjectVersion) map[v1alpha1.ObjectVersion]plan.User
	// Older returns, by namespace/name, the older Applications that also share an object and have not decided
	// about that version of it, or a later one. nil: there are none.
	Older func(app *v1alpha1.Application, id manifest.ID, version string) []string
	// Now is the clock.
	Now func() time.Time
	// Sleep waits; nil: the real clock is used.
	Sleep func(ctx context.Context, d time.Duration) error
	// InFlight is the number of parallel requests for one Application; 0: 16. With 1, all requests are sent
	// on the caller's goroutine.
	InFlight int
}

// Room bounds the memory of the manifests and schemas of Applications when they are decoded.
type Room struct {
	// Size is the most that one Application may take, in bytes; 0: intent.MaxDecoded.
	Size int
	// Enter waits until there is room for an Application that takes that many bytes; nil: there is always room. leave
	// must be called at the end.
	Enter func(ctx context.Context, namespace string, bytes int) (leave func(), err error)
}

// enter waits until there is room for an Application.
func (r Room) enter(ctx context.Context, app *v1alpha1.Application) (leave func(), err error) {
	if r.Enter == nil {
		return func() {}, nil
	}
	return r.Enter(ctx, app.Namespace, intent.DecodedBytes(app))
}

// problem returns the Problem of an Application that takes too much memory, or nil.
func (r Room) problem(app *v1alpha1.Application) *plan.Problem {
	return intent.TooLargeProblem(app, cmp.Or(r.Size, intent.MaxDecoded))
}

// Source is the translation of a template.
type Source struct {
	// Translation is nil for spec.manifest, and while there is no translation that can be used.
	Translation *intent.Source
	// Poll is when to check the source again; zero: never.
	Poll time.Time
	// Waiting is true while nothing can be decided.
	Waiting bool
}

// source returns the translation of the Application's template or archive, or an empty Source if no translation is
// configured.
func (r *Reconciler) source(ctx context.Context, app *v1alpha1.Application, target Target) Source {
	if r.Source == nil {
		return Source{}
	}
	return r.Source(ctx, app, target)
}

// inFlight returns the number of parallel requests for one Application.
func (r *Reconciler) inFlight() int { return cmp.Or(r.InFlight, 16) }

// sleep waits for a duration. If the context ends first, it returns the error of the context.
func (r *Reconciler) sleep(ctx context.Context, d time.Duration) error {
	if r.Sleep != nil {
		return r.Sleep(ctx, d)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Again converts the error of a write of an Application or its status. It returns worker.ErrOutdated for a conflict,
// because the watch is about to deliver the newer version: the retry is soon, and the conflict does not count as a
// failure. It returns no error if the Application does not exist. Other errors are returned unchanged.
func Again(err error) (time.Duration, error) {
	if apierrors.IsConflict(err) {
		return 0, worker.ErrOutdated
	}
	if apierrors.IsNotFound(err) {
		return 0, nil // deleted; the watch will report it
	}
	return 0, err
}

const (
	// attempts is how often a change is decided again immediately because another client was faster. Attempts that
	// only found out which fields the API server rejects do not count.
	attempts = 4
	// requestTimeout limits one read. In send, it limits one attempt at a change: the write, its repetitions, the dry
	// runs after a rejection, and the read after a conflict.
	requestTimeout = 30 * time.Second
	// recheckConflict is how long a conflicting object is used before it is read again.
	recheckConflict = 5 * time.Minute
)
