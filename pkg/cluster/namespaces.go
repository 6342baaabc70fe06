package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespaces notifies Applications of namespaces that they wait for. It watches the metadata of namespaces only while
// an Application waits. If the watch is forbidden, it pauses for a while.
//
// The watch runs only while it is needed. So a namespace can be created after the failed create of an object, and
// before the watch starts. The first list of the watch and arrived close this gap.
type Namespaces struct {
	client metadata.Interface
	// This function is called with the lock, and must not call this Namespaces.
	came func(application types.UID)
	now  func() time.Time

	// mu guards the fields below.
	mu sync.Mutex
	// waiting lists the waiting Applications. The watch runs while it is not empty.
	waiting map[types.UID]waiter
	// arrived is the time when each namespace was first seen during the current watch, by name. It is nil before the
	// first watch.
	arrived map[string]time.Time
	ctx     context.Context //nolint:containedctx // the life of the watch, not of a call
	// stop ends the watch; nil while there is none.
	stop context.CancelFunc
	// refused is the earliest time of another watch after a forbidden one.
	refused time.Time
}

// waiter is a waiting Application.
type waiter struct {
	// names are the namespaces that it waits for.
	names []string
	told  time.Time // last notification
}

// NewNamespaces returns a Namespaces that watches nothing before Run. The function must not block.
func NewNamespaces(client metadata.Interface, now func() time.Time, came func(application types.UID)) *Namespaces {
	return &Namespaces{client: client, now: now, came: came, waiting: map[types.UID]waiter{}}
}

// Run enables watching until the context ends.
func (n *Namespaces) Run(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ctx = ctx
}

// forbiddenPause is the time before a forbidden watch is tried again. In the meantime, Applications poll
// with backoff.
const forbiddenPause = 5 * time.Minute

// awaitDelay is the longest time between an Application's check that a namespace does not exist and its
// call of SetWaiting.
const awaitDelay = 10 * time.Second

// SetWaiting replaces the namespaces that an Application waits for. The Application is notified when one of them is
// created, even if that happened between its last check and this call. Without names, it waits no longer. A notified
// Application remains in the list until it calls SetWaiting again.
func (n *Namespaces) SetWaiting(application types.UID, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// A namespace that was reported before is not reported again at once.
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
	// No timer ends the pause: the Applications that wait call SetWaiting again.
	case len(n.waiting) > 0 && n.stop == nil && !n.now().Before(n.refused):
		n.watch()
	}
}

// watch starts the watch. The caller holds the lock. An earlier watch may still deliver events, which do no harm.
func (n *Namespaces) watch() {
	ctx, stop := context.WithCancel(n.ctx)
	// Namespaces of an earlier watch may have been deleted since.
	n.stop, n.arrived = stop, map[string]time.Time{}
	watchMetadata(ctx, n.client, namespaces, n, func(err error) {
		if apierrors.IsForbidden(err) {
			n.giveUp(ctx)
		}
	})
}

// giveUp stops a watch that is forbidden. ctx belongs to the watch, because another one may run by now.
func (n *Namespaces) giveUp(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.stop()
		n.stop, n.refused = nil, n.now().Add(forbiddenPause)
	}
}

// notify notifies the Applications that wait for these namespaces. It ignores namespaces that are being deleted.
func (n *Namespaces) notify(items ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	there := map[string]bool{}
	for _, item := range items {
		if namespace, ok := item.(*metav1.PartialObjectMetadata); ok && namespace.DeletionTimestamp == nil {
			there[namespace.Name] = true
			// A repeated list must not renew the time.
			if _, known := n.arrived[namespace.Name]; !known {
				n.arrived[namespace.Name] = n.now()
			}
		}
	}
	for application, w := range n.waiting {
		if slices.ContainsFunc(w.names, func(name string) bool { return there[name] }) {
			n.wake(application)
		}
	}
}

// wake notifies one Application. The caller holds the lock.
func (n *Namespaces) wake(application types.UID) {
	n.waiting[application] = waiter{names: n.waiting[application].names, told: n.now()}
	n.came(application)
}

// Add implements cache.ReflectorStore, like the following methods. Nothing is stored.
func (n *Namespaces) Add(item any) error { n.notify(item); return nil }

// Replace handles a list. Lists are consistent reads.
func (n *Namespaces) Replace(items []any, _ string) error { n.notify(items...); return nil }

// Update ignores changes of existing namespaces.
func (n *Namespaces) Update(any) error { return nil }

// Delete forgets a namespace, so that it is reported when it is created again.
func (n *Namespaces) Delete(item any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if namespace, ok := item.(*metav1.PartialObjectMetadata); ok {
		delete(n.arrived, namespace.Name)
	}
	return nil
}

// Resync does nothing.
func (n *Namespaces) Resync() error { return nil }
