package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/template"
)

// templates makes Applications of custom resources, and tells their status. It
// writes no object but these two; everything else the Application's own loop does,
// which tells it whenever it has handled an Application.
type templates struct {
	c     *Controller
	kinds []*templateKind
	queue workqueue.TypedRateLimitingInterface[templateKey]
}

// templateKind is the watch of one custom kind, while it is served.
type templateKind struct {
	template.Template

	mu    sync.Mutex
	store *cluster.Selected
	stop  context.CancelFunc
	// looks is how often to look again whether the kind is served: it may take a
	// moment after its definition has changed.
	looks int
}

// templateKey is a custom resource or, without a name, the question whether its
// kind is served.
type templateKey struct {
	kind *templateKind
	types.NamespacedName
}

// templateWorkers handle custom resources. Each waits for one request at a time.
const templateWorkers = 4

func newTemplates(c *Controller, all []template.Template) *templates {
	t := &templates{c: c, queue: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[templateKey](50*time.Millisecond, 5*time.Minute),
		workqueue.TypedRateLimitingQueueConfig[templateKey]{Name: "templates"})}
	for _, one := range all {
		t.kinds = append(t.kinds, &templateKind{Template: one})
	}
	return t
}

// run starts the work. It ends with the context; the result waits for that.
func (t *templates) run(ctx context.Context) (wait func()) {
	var workers sync.WaitGroup
	for _, kind := range t.kinds {
		t.queue.Add(templateKey{kind: kind})
	}
	for range min(templateWorkers, templateWorkers*len(t.kinds)) {
		workers.Go(func() {
			for t.next(ctx) {
			}
		})
	}
	context.AfterFunc(ctx, t.queue.ShutDown)
	return workers.Wait
}

func (t *templates) next(ctx context.Context) bool {
	key, shutdown := t.queue.Get()
	if shutdown {
		return false
	}
	defer t.queue.Done(key)
	logger := klog.FromContext(ctx).WithValues("kind", key.kind.Kind().Kind, "resource", key.String())
	after, err := t.safely(klog.NewContext(ctx, logger), key)
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		logger.Error(err, "Retrying")
		t.queue.AddRateLimited(key)
	default:
		t.queue.Forget(key)
		if after > 0 {
			t.queue.AddAfter(key, after)
		}
	}
	return true
}

// safely turns a panic into an error: one custom resource must not stop the others.
func (t *templates) safely(ctx context.Context, key templateKey) (after time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if key.Name == "" {
		return t.lookUp(ctx, key.kind)
	}
	return t.reconcile(ctx, key)
}

// definitionChanged has the templates of a group looked for again.
func (t *templates) definitionChanged(group string) {
	for _, kind := range t.kinds {
		if kind.Kind().Group != group {
			continue
		}
		kind.mu.Lock()
		kind.looks = 5
		kind.mu.Unlock()
		t.queue.AddAfter(templateKey{kind: kind}, 100*time.Millisecond)
	}
}

// handled has the custom resource of an Application looked at: it has its name.
func (t *templates) handled(application types.NamespacedName) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil && store.Get(application) != nil {
			t.queue.Add(templateKey{kind, application})
		}
	}
}

// selectAgain changes which custom resources are looked at: those that the
// Applications would be.
func (t *templates) selectAgain(selection cluster.Selection) {
	for _, kind := range t.kinds {
		if store := kind.current(); store != nil {
			store.Select(selection)
		}
	}
}

// lookUp starts the watch of a kind that is served, and stops that of one that is
// not.
func (t *templates) lookUp(ctx context.Context, kind *templateKind) (time.Duration, error) {
	_, err := t.c.target.mapper.Mapping(ctx, kind.Kind().GroupVersionKind)
	kind.mu.Lock()
	defer kind.mu.Unlock()
	switch {
	case err == nil:
		kind.start(ctx, t)
	case !errors.Is(err, cluster.ErrKindUnknown):
		return 0, err
	case kind.looks > 0:
		kind.looks--
		return time.Second, nil
	case kind.stop != nil:
		kind.stop()
		kind.store, kind.stop = nil, nil
	}
	return 0, nil
}

// start watches a kind, if that is not done already. The lock is held.
func (k *templateKind) start(ctx context.Context, t *templates) {
	if k.store != nil {
		return
	}
	watching, stop := context.WithCancel(ctx)
	k.stop = stop
	k.store = cluster.NewSelected(t.c.client, k.Kind().GroupVersionResource(), t.c.selected(), func(before, after *cluster.Object) {
		if after != nil {
			before = after
		}
		t.queue.Add(templateKey{k, before.Key})
	}, func() {})
	k.store.Run(watching)
}

func (k *templateKind) current() *cluster.Selected {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store
}
