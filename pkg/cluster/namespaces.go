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
// metadata alone, only while an Application waits; and not for a while if it may not.
type Namespaces struct {
	client metadata.Interface
	came   func(application types.UID)
	now    func() time.Time

	mu      sync.Mutex
	waiting map[types.UID]waiter
	// arrived is when namespaces were seen first since the watch began.
	arrived map[string]time.Time
	ctx     context.Context //nolint:containedctx // the life of the watch, not of a call
	stop    context.CancelFunc
	refused time.Time
}

// waiter is an Application that waits.
type waiter struct {
	names []string
	told  time.Time // at last
}

// NewNamespaces watches nothing before Run. came must not block.
func NewNamespaces(client metadata.Interface, now func() time.Time, came func(application types.UID)) *Namespaces {
	return &Namespaces{client: client, now: now, came: came, waiting: map[types.UID]waiter{}}
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

// awaitDelay is the longest time between an Application finding that a namespace is not
// there, and that it says so to Await.
const awaitDelay = 10 * time.Second

// Await says which namespaces an Application waits for, all of them. It is told when one
// comes, also if that has happened since it looked.
func (n *Namespaces) Await(application types.UID, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := waiter{names: names, told: n.waiting[application].told}
	if delete(n.waiting, application); len(names) > 0 {
		n.waiting[application] = w
		if slices.ContainsFunc(names, func(name string) bool {
			at := n.arrived[name]
			return at.After(w.told) && n.now().Sub(at) < awaitDelay
		}) {
			n.wake(application)
		}
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
	n.stop, n.arrived = stop, map[string]time.Time{}
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
			if _, known := n.arrived[namespace.Name]; !known {
				n.arrived[namespace.Name] = n.now()
			}
		}
	}
	for _, application := range slices.Collect(maps.Keys(n.waiting)) {
		if slices.ContainsFunc(n.waiting[application].names, func(name string) bool { return there[name] }) {
			n.wake(application)
		}
	}
}

// wake tells one. The lock is held.
func (n *Namespaces) wake(application types.UID) {
	n.waiting[application] = waiter{names: n.waiting[application].names, told: n.now()}
	n.came(application)
}

// Add is called by the reflector, as is what follows: nothing needs to be stored.
func (n *Namespaces) Add(item any) error { n.tell(item); return nil }

// Replace is called with a list, which is never older than its request.
func (n *Namespaces) Replace(items []any, _ string) error { n.tell(items...); return nil }

// Update is no news.
func (n *Namespaces) Update(any) error { return nil }

// Delete forgets one, so that it is news when it is there again.
func (n *Namespaces) Delete(item any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if namespace, ok := item.(*metav1.PartialObjectMetadata); ok {
		delete(n.arrived, namespace.Name)
	}
	return nil
}

// Resync is no news.
func (n *Namespaces) Resync() error { return nil }
