// Package templates creates Applications from custom resources, and reports the status of the custom resources. It
// writes no other object. The Application's own loop does everything else, and calls Handled after each reconcile.
//
// Each kind of a template has a watch while the API server serves the kind. The watch and Handled queue custom
// resources. Workers write either the Application or the status of a custom resource, never both in one pass: see
// reconcile. One worker handles one custom resource at a time.
package templates

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/worker"
)

// Controller is the controller that holds the Applications. The workers call its methods concurrently.
type Controller interface {
	// Application returns an Application from the store, or nil if there is none.
	Application(key types.NamespacedName) (*v1alpha1.Application, error)
	// Live returns the live objects of an Application. It returns nil, and ready is false, until the first lists of all
	// watches are complete.
	Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool)
	// Kept returns the objects of manifests that exist before the Application does, as far as its
	// ServiceAccount can read them.
	Kept(ctx context.Context, app *v1alpha1.Application, manifests []map[string]any) (template.Live, error)
	// Wrote records that an Application was written.
	Wrote(app *v1alpha1.Application) error
	// Announce emits an event about a custom resource.
	Announce(object map[string]any, event *plan.Event)
}

// Templates is the loop of the custom resources of all templates. All exported methods except Run can be called at
// any time, from any goroutine.
type Templates struct {
	c      Controller
	client *cluster.Client
	mapper *cluster.Mapper
	now    func() time.Time
	// kinds contains one entry per template. The slice does not change.
	kinds []*kind
	// queue has custom resources, and checks whether kinds are served.
	queue workqueue.TypedRateLimitingInterface[key]
	// selection is which custom resources are handled. Watches that start later use it.
	selection atomic.Pointer[cluster.Selection]
}

// kind is a custom kind, with a watch while the kind is served.
type kind struct {
	template.Template

	// mu guards the fields below.
	mu sync.Mutex
	// store contains the custom resources; nil while there is no watch.
	store *cluster.ApplicationStore
	// stop ends the watch; nil while there is none.
	stop context.CancelFunc
	// lookups is how often to check again whether the kind is served, because that can take a moment after
	// its definition has changed.
	lookups int
}

// key is a custom resource. Without a name, it is the check whether the kind is served. Both use one queue, so that
// checks have the backoff of a queue, too.
type key struct {
	kind *kind
	types.NamespacedName
}

// namespaceOf returns the group of a key in the queue. It is empty for a kind.
func namespaceOf(k key) string { return k.Namespace }

// workers limits how many custom resources are handled at the same time. Each worker waits for one request
// at a time.
const workers = 4

// New returns the loop; Run starts it. all are the templates, with different kinds.
func New(c Controller, client *cluster.Client, mapper *cluster.Mapper, now func() time.Time, all []template.Template, selection cluster.Selection) *Templates {
	t := &Templates{c: c, client: client, mapper: mapper, now: now, queue: worker.NewQueue("templates", namespaceOf)}
	t.selection.Store(&selection)
	for _, one := range all {
		t.kinds = append(t.kinds, &kind{Template: one})
	}
	return t
}

// Run handles custom resources until the context ends. Without templates, it returns immediately. Running work is
// canceled when the context ends, because the next process repeats it.
func (t *Templates) Run(ctx context.Context) {
	for _, kind := range t.kinds {
		t.queue.Add(key{kind: kind})
	}
	loop := worker.Loop[key]{
		Queue: t.queue, Group: namespaceOf, Workers: min(workers, workers*len(t.kinds)), Handle: t.handle,
		Logger: func(ctx context.Context, k key) klog.Logger {
			return klog.FromContext(ctx).WithValues("kind", k.kind.Kind().Kind, "resource", k.String())
		},
	}
	loop.Run(ctx)
}

// handle handles one key of the queue, and returns when to handle it again.
func (t *Templates) handle(ctx context.Context, k key) (time.Duration, error) {
	if k.Name == "" {
		return t.lookUp(ctx, k.kind)
	}
	return t.reconcile(ctx, k)
}

// DefinitionChanged checks again which kinds of a group are served, after a definition of the group has changed.
// Several calls within the delay cause one check.
func (t *Templates) DefinitionChanged(group string) {
	for _, kind := range t.kinds {
		if kind.Kind().Group != group {
			continue
		}
		kind.mu.Lock()
		kind.lookups = 5
		kind.mu.Unlock()
		t.queue.AddAfter(key{kind: kind}, 100*time.Millisecond)
	}
}

// Handled queues the custom resource with the name of an Application. The controller calls it after each reconcile,
// because the status of the Application may have changed.
func (t *Templates) Handled(application types.NamespacedName) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil && store.Get(application) != nil {
			t.queue.Add(key{kind, application})
		}
	}
}

// Make reports whether a template creates Applications from custom resources of a kind.
func (t *Templates) Make(apiVersion, of string) bool {
	gvk := schema.FromAPIVersionAndKind(apiVersion, of)
	return slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.Kind().GroupVersionKind == gvk })
}

// Select changes which custom resources are handled. The selection applies to them as it applies to
// Applications.
func (t *Templates) Select(selection cluster.Selection) {
	t.selection.Store(&selection)
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil {
			store.Select(selection)
		}
	}
}

// lookUp starts the watch of a kind if it is served, and stops it if not. It returns when to check again; 0 means
// after the next change of a definition. Only a certain answer stops a watch: an error is retried.
func (t *Templates) lookUp(ctx context.Context, kind *kind) (time.Duration, error) {
	_, err := t.mapper.Mapping(ctx, kind.Kind().GroupVersionKind)
	kind.mu.Lock()
	defer kind.mu.Unlock()
	switch {
	case err == nil:
		kind.start(ctx, t)
	case !errors.Is(err, cluster.ErrKindUnknown):
		return 0, err
	case kind.lookups > 0:
		kind.lookups--
		return time.Second, nil
	// The kind is certainly not served any more.
	case kind.stop != nil:
		kind.stop()
		kind.store, kind.stop = nil, nil
	}
	return 0, nil
}

// start starts the watch of a kind, unless it runs already. The caller holds the lock. The callback of the watch runs
// on another goroutine and only queues the custom resource.
func (k *kind) start(ctx context.Context, t *Templates) {
	if k.store != nil {
		return
	}
	watching, stop := context.WithCancel(ctx)
	k.stop = stop
	k.store = cluster.NewApplicationStore(t.client, k.Kind().GroupVersionResource(), *t.selection.Load(), func(before, after *store.Object) {
		t.queue.Add(key{k, cmp.Or(after, before).Key})
	}, func() {})
	k.store.Run(watching)
}

// current returns the store of the kind, or nil while the kind is not watched.
func (k *kind) current() *cluster.ApplicationStore {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store
}
