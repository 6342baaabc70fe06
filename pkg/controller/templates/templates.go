// Package templates makes Applications of custom resources, and tells their status. It
// writes no object but these two; everything else the Application's own loop does,
// which tells it whenever it has handled an Application.
package templates

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// Controller is what holds the Applications.
type Controller interface {
	// Application is what the watch has; nil if there is none.
	Application(key types.NamespacedName) (*v1alpha1.Application, error)
	// Live are the live objects of an Application. ready is false while a watch has no
	// first list.
	Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool)
	// Wrote is told that an Application was written.
	Wrote(app *v1alpha1.Application) error
	// Announce sends an event about a custom resource.
	Announce(object map[string]any, event *plan.Event)
	// Mine reports whether the Application of a name is this process' to handle.
	Mine(key types.NamespacedName) bool
	// Selected is which Applications are looked at.
	Selected() cluster.Selection
}

// Templates is the loop of all custom kinds.
type Templates struct {
	c      Controller
	client *cluster.Client
	mapper *cluster.Mapper
	now    func() time.Time
	kinds  []*kind
	queue  workqueue.TypedRateLimitingInterface[key]
}

// kind is the watch of one custom kind, while it is served.
type kind struct {
	template.Template

	mu    sync.Mutex
	store *cluster.ApplicationStore
	stop  context.CancelFunc
	// lookups is how often to look again whether the kind is served: it may take a
	// moment after its definition has changed.
	lookups int
}

// key is a custom resource or, without a name, the question whether its
// kind is served.
type key struct {
	kind *kind
	types.NamespacedName
}

// workers handle custom resources. Each waits for one request at a time.
const workers = 4

// New makes the loop; Run starts it.
func New(c Controller, client *cluster.Client, mapper *cluster.Mapper, now func() time.Time, all []template.Template) *Templates {
	t := &Templates{c: c, client: client, mapper: mapper, now: now, queue: worker.NewQueue[key]("templates")}
	for _, one := range all {
		t.kinds = append(t.kinds, &kind{Template: one})
	}
	return t
}

// Run works until the context ends.
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

// DefinitionChanged has the templates of a group looked for again.
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

// Handled has the custom resource of an Application looked at: it has its name.
func (t *Templates) Handled(application types.NamespacedName) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil && store.Get(application) != nil {
			t.queue.Add(key{kind, application})
		}
	}
}

// Again has all custom resources be looked at: it has changed which are this process'.
func (t *Templates) Again() {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil {
			for _, object := range store.All() {
				t.queue.Add(key{kind, object.Key})
			}
		}
	}
}

// Make reports whether Applications are made of custom resources of a kind.
func (t *Templates) Make(apiVersion, of string) bool {
	gvk := schema.FromAPIVersionAndKind(apiVersion, of)
	return slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.Kind().GroupVersionKind == gvk })
}

// Select changes which custom resources are looked at: those that the
// Applications would be.
func (t *Templates) Select(selection cluster.Selection) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil {
			store.Select(selection)
		}
	}
}

// lookUp starts the watch of a kind that is served, and stops that of one that is
// not.
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

// start watches a kind, if that is not done already. The lock is held.
func (k *kind) start(ctx context.Context, t *Templates) {
	if k.store != nil {
		return
	}
	watching, stop := context.WithCancel(ctx)
	k.stop = stop
	k.store = cluster.NewApplicationStore(t.client, k.Kind().GroupVersionResource(), t.c.Selected(), func(before, after *cluster.Object) {
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
