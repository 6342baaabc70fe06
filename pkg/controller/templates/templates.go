// Package templates creates Applications from custom resources, and reports the status of the custom
// resources. It writes no other object. The Application's own loop does everything else, and calls Handled
// after each reconcile.
package templates

import (
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
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/worker"
)

// Controller is the controller that holds the Applications.
type Controller interface {
	// Application returns an Application from the store, or nil if there is none.
	Application(key types.NamespacedName) (*v1alpha1.Application, error)
	// Live returns the live objects of an Application. ready is false until the first lists of all watches
	// are complete.
	Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool)
	// Kept returns the objects of manifests that exist before the Application does, as far as its
	// ServiceAccount can read them.
	Kept(ctx context.Context, app *v1alpha1.Application, manifests []map[string]any) (template.Live, error)
	// Wrote records that an Application was written.
	Wrote(app *v1alpha1.Application) error
	// Announce emits an event about a custom resource.
	Announce(object map[string]any, event *plan.Event)
	// IsAssigned reports whether this process handles the Application.
	IsAssigned(key types.NamespacedName) bool
}

// Templates is the loop of the custom resources of all templates.
type Templates struct {
	c      Controller
	client *cluster.Client
	mapper *cluster.Mapper
	now    func() time.Time
	kinds  []*kind
	queue  workqueue.TypedRateLimitingInterface[key]
	// selection is which custom resources are handled.
	selection atomic.Pointer[cluster.Selection]
}

// kind is a custom kind, with a watch while the kind is served.
type kind struct {
	template.Template

	mu    sync.Mutex
	store *cluster.ApplicationStore
	stop  context.CancelFunc
	// lookups is how often to check again whether the kind is served, because that can take a moment after
	// its definition has changed.
	lookups int
}

// key is a custom resource. Without a name, it is the check whether the kind is served.
type key struct {
	kind *kind
	types.NamespacedName
}

// workers limits how many custom resources are handled at the same time. Each worker waits for one request
// at a time.
const workers = 4

// New returns the loop; Run starts it.
func New(c Controller, client *cluster.Client, mapper *cluster.Mapper, now func() time.Time, all []template.Template, selection cluster.Selection) *Templates {
	t := &Templates{c: c, client: client, mapper: mapper, now: now, queue: worker.NewQueue[key]("templates")}
	t.selection.Store(&selection)
	for _, one := range all {
		t.kinds = append(t.kinds, &kind{Template: one})
	}
	return t
}

// Run handles custom resources until the context ends.
func (t *Templates) Run(ctx context.Context) {
	for _, kind := range t.kinds {
		t.queue.Add(key{kind: kind})
	}
	loop := worker.Loop[key]{
		Queue: t.queue, Workers: min(workers, workers*len(t.kinds)), Handle: t.handle,
		Logger: func(ctx context.Context, k key) klog.Logger {
			return klog.FromContext(ctx).WithValues("kind", k.kind.Kind().Kind, "resource", k.String())
		},
	}
	loop.Run(ctx)
}

func (t *Templates) handle(ctx context.Context, k key) (time.Duration, error) {
	if k.Name == "" {
		return t.lookUp(ctx, k.kind)
	}
	return t.reconcile(ctx, k)
}

// DefinitionChanged checks again which kinds of a group are served, after a definition of the group has
// changed.
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

// Handled queues the custom resource with the name of an Application.
func (t *Templates) Handled(application types.NamespacedName) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil && store.Get(application) != nil {
			t.queue.Add(key{kind, application})
		}
	}
}

// Again queues all custom resources after the assignment of Applications to this process has changed.
func (t *Templates) Again() {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil {
			for _, object := range store.All() {
				t.queue.Add(key{kind, object.Key})
			}
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

// lookUp starts the watch of a kind if it is served, and stops it if not.
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
	case kind.stop != nil:
		kind.stop()
		kind.store, kind.stop = nil, nil
	}
	return 0, nil
}

// start starts the watch of a kind, unless it runs already. The caller holds the lock.
func (k *kind) start(ctx context.Context, t *Templates) {
	if k.store != nil {
		return
	}
	watching, stop := context.WithCancel(ctx)
	k.stop = stop
	k.store = cluster.NewApplicationStore(t.client, k.Kind().GroupVersionResource(), *t.selection.Load(), func(before, after *cluster.Object) {
		if after != nil {
			before = after
		}
		t.queue.Add(key{k, before.Key})
	}, func() {})
	k.store.Run(watching)
}

func (k *kind) current() *cluster.ApplicationStore {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store
}
