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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// feed is what a reflector asks for. Every list is consistent: it has all that the API
// server knew when it was asked, whatever was known here. A list from a cache that is
// behind, or was there before a backup was restored, could not be told from it.
type feed struct {
	list     func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch    func(context.Context, metav1.ListOptions) (watch.Interface, error)
	selector string
	// name is that of the only object; empty for all.
	name  string
	pulse *pulse
	// asks is called before each list, noted with what came of each request; nil for
	// nobody.
	asks  func()
	noted func(error)
}

func (f *feed) listerWatcher() cache.ListerWatcher {
	return &cache.ListWatch{ListWithContextFunc: f.all, WatchFuncWithContext: f.open}
}

func (f *feed) all(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	f.selects(&options)
	if options.Continue == "" {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
		f.asksAll()
	}
	f.pulse.ask()
	f.pulse.noteWay("") // the watch that follows may be over any
	list, err := f.list(ctx, options)
	f.pulse.answered()
	if err == nil {
		f.pulse.hear(false)
	}
	f.note(err)
	return list, err
}

// selects has a request be about what is selected only.
func (f *feed) selects(options *metav1.ListOptions) {
	options.LabelSelector = f.selector
	if f.name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, f.name).String()
	}
}

func (f *feed) open(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	f.selects(&options)
	all := options.SendInitialEvents != nil && *options.SendInitialEvents
	stale := f.pulse.takeStale()
	if stale && !all {
		return nil, apierrors.NewResourceExpired("the API server was away, or silent: everything is listed again")
	}
	if all {
		options.ResourceVersion = ""
		f.asksAll()
	}
	f.pulse.ask()
	way := &connection{}
	stream, err := f.watch(way.noted(ctx), options)
	if err != nil || !all { // or else its objects are the answer
		f.pulse.answered()
	}
	var status apierrors.APIStatus
	if refused := all && errors.As(err, &status); !refused { // or else a list follows
		f.note(err)
	}
	if err != nil {
		return nil, err
	}
	if moved := f.pulse.noteWay(way.String()); moved && !all {
		stream.Stop()
		return nil, apierrors.NewResourceExpired("the connection to the API server is another one: everything is listed again")
	}
	return f.pulse.follow(stream), nil
}

func (f *feed) asksAll() {
	if f.asks != nil {
		f.asks()
	}
}

func (f *feed) note(err error) {
	f.pulse.note(err)
	if f.noted != nil {
		f.noted(err)
	}
}

// followed is a stream that ends when it says nothing for too long.
type followed struct {
	inner  watch.Interface
	result chan watch.Event
	stop   chan struct{}
	once   sync.Once
}

// follow takes the events of a stream for signs of life.
func (p *pulse) follow(stream watch.Interface) watch.Interface {
	f := &followed{inner: stream, result: make(chan watch.Event), stop: make(chan struct{})}
	p.mu.Lock()
	quiet := p.quiet
	p.mu.Unlock()
	go f.run(p, quiet)
	return f
}

// ResultChan has the events.
func (f *followed) ResultChan() <-chan watch.Event { return f.result }

// Stop ends the stream.
func (f *followed) Stop() { f.once.Do(func() { close(f.stop) }) }

func (f *followed) run(p *pulse, quiet time.Duration) {
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
				patience.Reset(p.hear(event.Type == watch.Bookmark && !endsList(event)))
			}
			select {
			case f.result <- event:
			case <-f.stop:
				return
			}
		case <-patience.C:
			p.tooQuiet()
			return
		case <-f.stop:
			return
		}
	}
}

// endsList reports whether a bookmark is the one after the objects of a list, which
// comes from API servers that send no other, too.
func endsList(event watch.Event) bool {
	object, ok := event.Object.(metav1.Object)
	return ok && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
