package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"holdfast.dev/holdfast/pkg/store"
)

// consistentListWatcher is the ListerWatcher of a reflector. Its lists are always consistent reads. A list from the
// API server's cache could be older than the store, or from before a backup was restored. The store could not detect
// that.
//
// A reflector gets its first objects from a stream (SendInitialEvents) if the API server supports that, and else from
// a list. all serves lists, open serves watches and streams. Returning Expired from open makes the reflector start
// again with a list.
type consistentListWatcher struct {
	// list and watch send the requests.
	list  func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// selector is the label selector; empty for all objects.
	selector string
	// name restricts the requests to one object; empty for all
	name  string
	pulse *watchHealth
	// asks is called before each list, noted after each request with its result. Both can be nil, and run on the
	// goroutine of the reflector.
	asks  func()
	noted func(error)
	// restricted is set if the controller watches only the namespaces that it needs. namespace is that of the watch.
	restricted bool
	namespace  string
}

// RestrictedError is the rejection of a watch of a controller that watches only the namespaces that it needs. The roles
// of such a controller are bound in single namespaces, so it lacks a binding.
type RestrictedError struct {
	error

	// Namespace is empty for all namespaces and for cluster-scoped kinds.
	Namespace string
}

// Unwrap returns the error of the API server.
func (e *RestrictedError) Unwrap() error { return e.error }

func (f *consistentListWatcher) listerWatcher() cache.ListerWatcher {
	return &cache.ListWatch{ListWithContextFunc: f.all, WatchFuncWithContext: f.open}
}

// reflector returns a reflector that fills a Store with the objects of a resource in a namespace, or in all of them if
// it is empty. It sets list, watch, asks and namespace.
func (f *consistentListWatcher) reflector(client dynamic.Interface, events eventClient, resource schema.GroupVersionResource, namespace string, into *store.Store) *cache.Reflector {
	f.list = listObjects(inNamespace(client.Resource(resource), namespace).List)
	f.watch, f.asks, f.namespace = events.watcher(resource, namespace), into.BeginList, namespace
	return cache.NewReflectorWithOptions(f.listerWatcher(), nil, reflectorStore{into},
		cache.ReflectorOptions{Name: resource.String(), TypeDescription: resource.String(), Backoff: f.pulse.patience.backoff()})
}

// reflectorStore is a Store that compresses the initial objects of a stream.
type reflectorStore struct{ *store.Store }

// Transformer implements cache.TransformingStore.
func (s reflectorStore) Transformer() cache.TransformFunc { return s.Transform }

// watchMetadata starts to fill a store with the metadata of all objects of a resource, until the context ends. noted
// is called as in consistentListWatcher, and can be nil.
func watchMetadata(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource, store cache.ReflectorStore, noted func(error)) {
	all := client.Resource(resource)
	f := &consistentListWatcher{
		list: listObjects(all.List), watch: all.Watch, noted: noted, pulse: newWatchHealth(defaultStallTimeouts, &connectionHealth{}),
	}
	reflector := cache.NewReflectorWithOptions(f.listerWatcher(), &metav1.PartialObjectMetadata{}, store,
		cache.ReflectorOptions{Name: resource.String(), TypeDescription: resource.String()})
	go reflector.RunWithContext(ctx)
}

// listObjects converts the method List of a client to the type that a reflector needs.
func listObjects[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// all lists one page. Without a resourceVersion, the API server reads from etcd or confirms that its cache is
// current. Only the first page begins a list.
func (f *consistentListWatcher) all(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	f.restrict(&options)
	if options.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		f.asksAll()
	}
	f.pulse.beginRequest()
	f.pulse.recordConnection("") // the next watch can use any connection
	list, err := f.list(ctx, options)
	f.pulse.endRequest()
	if err == nil {
		f.pulse.recordActivity(false)
	}
	f.note(err)
	return list, err
}

// restrict adds the selectors to the options of a request.
func (f *consistentListWatcher) restrict(options *metav1.ListOptions) {
	options.LabelSelector = f.selector
	if f.name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String()
	}
}

// open opens a watch, or a stream that begins with all objects. It returns Expired if the watch could have missed
// something: after an unreachable API server, a period without events, or over another connection.
func (f *consistentListWatcher) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	f.restrict(&options)
	all := options.SendInitialEvents != nil && *options.SendInitialEvents
	// The flag is reset, because the list that follows makes the store current.
	stale := f.pulse.takeStale()
	if stale && !all {
		return nil, apierrors.NewResourceExpired("the watch failed or stalled: list again")
	}
	if all {
		// Without a version, the stream begins with a consistent state.
		options.ResourceVersion = ""
		f.asksAll()
	}
	f.pulse.beginRequest()
	way := &connection{}
	stream, err := f.watch(way.noted(ctx), options)
	if err != nil || !all { // otherwise the stream delivers the objects
		f.pulse.endRequest()
	}
	if _, responded := errors.AsType[*apierrors.StatusError](err); !all || !responded { // otherwise the reflector lists
		f.note(err)
	}
	if err != nil {
		return nil, err
	}
	if moved := f.pulse.recordConnection(way.String()); moved && !all {
		stream.Stop()
		return nil, apierrors.NewResourceExpired("the connection to the API server has changed: list again")
	}
	return f.pulse.monitor(stream), nil
}

// asksAll calls asks before a request for all objects.
func (f *consistentListWatcher) asksAll() {
	if f.asks != nil {
		f.asks()
	}
}

// note records the result of a request for the health of the watch, and passes it on.
func (f *consistentListWatcher) note(err error) {
	if f.restricted && apierrors.IsForbidden(err) {
		err = &RestrictedError{err, f.namespace}
	}
	f.pulse.recordResult(err)
	if f.noted != nil {
		f.noted(err)
	}
}

// monitoredWatch is a watch that ends after a period without events. The reflector then opens another one. A
// goroutine passes the events on.
type monitoredWatch struct {
	// inner is the watch of the API server. result passes its events on.
	inner  watch.Interface
	result chan watch.Event
	// stop is closed by Stop, at most once.
	stop chan struct{}
	once sync.Once
}

// monitor wraps a watch and records its events as activity.
func (p *watchHealth) monitor(stream watch.Interface) watch.Interface {
	f := &monitoredWatch{inner: stream, result: make(chan watch.Event), stop: make(chan struct{})}
	p.mu.Lock()
	quiet := p.quiet
	p.mu.Unlock()
	go f.run(p, quiet)
	return f
}

// ResultChan implements watch.Interface.
func (f *monitoredWatch) ResultChan() <-chan watch.Event { return f.result }

// Stop implements watch.Interface.
func (f *monitoredWatch) Stop() { f.once.Do(func() { close(f.stop) }) }

// run passes events on until the inner watch ends, Stop is called, or no event has arrived for the period. An error
// event is no activity. The period can change with each event.
func (f *monitoredWatch) run(p *watchHealth, quiet time.Duration) {
	defer close(f.result)
	defer f.inner.Stop()
	patience := time.NewTimer(quiet)
	defer patience.Stop()
	for {
		select {
		case event, open := <-f.inner.ResultChan():
			if !open {
				return
			}
			if event.Type != watch.Error {
				patience.Reset(p.recordActivity(event.Type == watch.Bookmark && !endsList(event)))
			}
			select {
			case f.result <- event:
			case <-f.stop:
				return
			}
		case <-patience.C:
			p.recordTimeout()
			return
		case <-f.stop:
			return
		}
	}
}

// endsList reports whether an event is the bookmark after the initial objects. API servers that send no
// other bookmarks also send it.
func endsList(event watch.Event) bool {
	object, ok := event.Object.(metav1.Object)
	return ok && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
