package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces tells Applications of the namespaces that they wait for. It watches them, the
// metadata alone, only while somebody waits; and not for a while if it may not.
type Namespaces struct {
	client metadata.Interface
	came   func(application types.UID)
	now    func() time.Time

	mu      sync.Mutex
	waiting map[types.UID][]string
	ctx     context.Context //nolint:containedctx // the life of the watch, not of a call
	stop    context.CancelFunc
	refused time.Time
}

// NewNamespaces watches nothing before Run. came must not block.
func NewNamespaces(client metadata.Interface, now func() time.Time, came func(application types.UID)) *Namespaces {
	return &Namespaces{client: client, now: now, came: came, waiting: map[types.UID][]string{}}
}

// Run has what is awaited be watched from now on until the context ends.
func (n *Namespaces) Run(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ctx = ctx
}

// refusedPause is how long nobody asks again for a watch that was refused. Who waits looks
// for itself meanwhile, more and more rarely.
const refusedPause = 5 * time.Minute

// Await says which namespaces an Application waits for, all of them. It is told when one
// comes: also if that has happened since it looked, as long as nothing was watched.
func (n *Namespaces) Await(application types.UID, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if delete(n.waiting, application); len(names) > 0 {
		n.waiting[application] = names
	}
	switch {
	case len(n.waiting) == 0 && n.stop != nil:
		n.stop()
		n.stop = nil
	case len(n.waiting) > 0 && n.stop == nil && !n.now().Before(n.refused):
		n.watch()
	}
}

// watch begins to watch. The lock is held.
func (n *Namespaces) watch() {
	ctx, stop := context.WithCancel(n.ctx)
	n.stop = stop
	client := n.client.Resource(namespaces)
	f := &feed{
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		watch: client.Watch, pulse: newPulse(usualPatience, &line{}),
		noted: func(err error) {
			if apierrors.IsForbidden(err) {
				n.giveUp(ctx)
			}
		},
	}
	reflector := cache.NewReflectorWithOptions(f.listerWatcher(), &metav1.PartialObjectMetadata{}, n,
		cache.ReflectorOptions{Name: "namespaces", TypeDescription: namespaces.String()})
	go reflector.RunWithContext(ctx)
}

// giveUp ends a watch that is not allowed.
func (n *Namespaces) giveUp(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.stop()
		n.stop, n.refused = nil, n.now().Add(refusedPause)
	}
}

// tell tells who waits for these.
func (n *Namespaces) tell(items ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	there := map[string]bool{}
	for _, item := range items {
		if namespace, ok := item.(*metav1.PartialObjectMetadata); ok && namespace.DeletionTimestamp == nil {
			there[namespace.Name] = true
		}
	}
	for _, application := range slices.Collect(maps.Keys(n.waiting)) {
		if slices.ContainsFunc(n.waiting[application], func(name string) bool { return there[name] }) {
			n.came(application)
		}
	}
}

// Add is called by the reflector, as is what follows: nothing needs to be stored.
func (n *Namespaces) Add(item any) error { n.tell(item); return nil }

// Replace is called with a list, which is never older than its request.
func (n *Namespaces) Replace(items []any, _ string) error { n.tell(items...); return nil }

// Update is no news.
func (n *Namespaces) Update(any) error { return nil }

// Delete is no news.
func (n *Namespaces) Delete(any) error { return nil }

// Resync is no news.
func (n *Namespaces) Resync() error { return nil }
