package page

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/cli/connection"
)

// applications is a store of all Applications that the user may see, updated by one watch. It keeps only what
// the overview shows. It implements cache.ReflectorStore. It is safe for concurrent use.
type applications struct {
	// mu guards all fields except ready.
	mu sync.Mutex
	// all contains the Applications by namespace/name.
	all   map[string]Summary
	ready chan struct{} // closed with the first list
	// revision counts the changes since the start of the server.
	revision int64
	// log records the last changes in order, for pages that missed some.
	log []change
	// news is closed and replaced whenever something changes.
	news chan struct{}
	// trouble is why the API server does not respond; "" if it does.
	trouble string
}

// change is the key of an Application that has changed, "*" for many.
type change struct {
	revision int64
	key      string
}

// newApplications returns an empty store, which is not ready.
func newApplications() *applications {
	return &applications{all: map[string]Summary{}, ready: make(chan struct{}), news: make(chan struct{})}
}

// mayList returns the namespace whose Applications the user may list: all namespaces ("") if the user may and
// all is true, or else the given one. It returns an error if the user may list neither.
func mayList(ctx context.Context, c *connection.Cluster, namespace string, all bool) (string, error) {
	list := func(namespace string) error {
		_, err := c.Own.Resource(connection.Applications).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return connection.ErrNotInstalled
		}
		return c.Explained(err, "list", "Applications")
	}
	if all {
		if err := list(metav1.NamespaceAll); err == nil || !apierrors.IsForbidden(err) {
			return metav1.NamespaceAll, err
		}
	}
	return namespace, list(namespace)
}

// watch updates the store until the context ends.
func (a *applications) watch(ctx context.Context, c *connection.Cluster, namespace string) {
	client := c.Own.Resource(connection.Applications).Namespace(namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, options)
			a.heard(c.Client, err, "list")
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			stream, err := client.Watch(ctx, options)
			a.heard(c.Client, err, "watch")
			return stream, err
		},
	}
	r := cache.NewReflectorWithOptions(lw, &unstructured.Unstructured{}, a,
		cache.ReflectorOptions{Name: "applications", TypeDescription: connection.Applications.String()})
	r.RunWithContext(klog.NewContext(ctx, logr.Discard())) // the pages show the errors
}

// heard records whether the API server responds to a verb. A nil error means that it does. A request that ends because
// the server of the pages stops is no error.
func (a *applications) heard(c *connection.Client, err error, verb string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := ""
	if err != nil && !errors.Is(err, context.Canceled) {
		text = c.Explained(err, verb, "Applications").Error()
	}
	if text != a.trouble {
		a.trouble = text
		a.broadcast()
	}
}

// note records a change. The caller holds the lock.
func (a *applications) note(key string) {
	const kept = 256
	a.revision++
	if a.log = append(a.log, change{a.revision, key}); len(a.log) > kept {
		a.log = slices.Clone(a.log[kept/2:])
	}
	a.broadcast()
}

// broadcast wakes all streams. The caller holds the lock.
func (a *applications) broadcast() {
	close(a.news)
	a.news = make(chan struct{})
}

// since returns the keys of the Applications that changed after a revision, or "*" if there are many, or if
// the log no longer has all of them. It also returns the current revision, and a channel that is closed at the
// next change.
func (a *applications) since(revision int64) (keys []string, now int64, trouble string, news <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, trouble, news = a.revision, a.trouble, a.news
	if revision >= now {
		return nil, now, trouble, news
	}
	if len(a.log) == 0 || a.log[0].revision > revision+1 {
		return []string{"*"}, now, trouble, news
	}
	for _, change := range a.log {
		if change.revision > revision && !slices.Contains(keys, change.key) {
			keys = append(keys, change.key)
		}
	}
	// A page that must reload many Applications reloads its whole list instead.
	if len(keys) > 50 || slices.Contains(keys, "*") {
		keys = []string{"*"}
	}
	return keys, now, trouble, news
}

// list returns all Applications in the order of their keys, and the current revision. It waits for the first
// list. If ctx ends before, the error describes the trouble of the API server.
func (a *applications) list(ctx context.Context) (all []Summary, revision int64, err error) {
	select {
	case <-a.ready:
	case <-ctx.Done():
		_, _, trouble, _ := a.since(math.MaxInt64)
		return nil, 0, fmt.Errorf("waiting for the API server to list the Applications: %s", trouble)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.all {
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y Summary) int { return strings.Compare(x.key(), y.key()) })
	return all, a.revision, nil
}

// Add implements cache.ReflectorStore, like the methods below.
func (a *applications) Add(item any) error { return a.record(item, false) }

// Update stores the new version of an Application.
func (a *applications) Update(item any) error { return a.record(item, false) }

// Delete removes a deleted Application.
func (a *applications) Delete(item any) error { return a.record(item, true) }

// record stores or removes an Application.
func (a *applications) record(item any, gone bool) error {
	u, ok := item.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("the watch of Applications returned a %T", item)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := summaryOf(u)
	if a.all[s.key()] = s; gone {
		delete(a.all, s.key())
	}
	a.note(s.key())
	return nil
}

// Replace replaces all Applications.
func (a *applications) Replace(items []any, _ string) error {
	all := make(map[string]Summary, len(items))
	for _, item := range items {
		if u, ok := item.(*unstructured.Unstructured); ok {
			s := summaryOf(u)
			all[s.key()] = s
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = all
	a.note("*")
	select {
	case <-a.ready:
	default:
		close(a.ready)
	}
	return nil
}

// Resync does nothing, because nothing has changed.
func (*applications) Resync() error { return nil }
