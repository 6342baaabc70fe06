package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Loop handles keys from a queue. Its fields must not change after the call of Run, which can be called only once.
// Handle, Logger and OnHandled are called on all workers concurrently, but not for the same key.
type Loop[K comparable] struct {
	// Queue is shut down when the context of Run ends. Keys that are added afterwards are dropped.
	Queue workqueue.TypedRateLimitingInterface[K]
	// Workers is the number of places: see places.
	Workers int
	// Group returns the group of a key, such as its namespace. It is that of the queue. If it is nil, all places have
	// the same rights, and no more than Workers keys are handled concurrently.
	Group func(key K) string
	// Handle handles a key. It returns the time after which to handle it again, or 0. After an error the
	// queue determines the time; after ErrOutdated it is very short.
	Handle func(ctx context.Context, key K) (after time.Duration, err error)
	// Logger returns the logger for handling a key.
	Logger func(ctx context.Context, key K) klog.Logger
	// OnHandled is called after each key with its result. It can be nil.
	OnHandled func(key K, err error, took time.Duration)
	// Drain is the time that running work has to finish when the context ends; the context of Handle ends after it.
	// It does not apply if another process leads by then: if the cause of the end is Abandon, the context of Handle
	// ends at once.
	Drain   time.Duration
	Abandon error

	// once creates soon.
	once sync.Once
	// soon is the rate limiter for outdated keys.
	soon workqueue.TypedRateLimiter[K]
}

// ErrOutdated is returned if the handled state was outdated and the current one has not arrived yet. It
// does not count as a failure. The key is handled again after 10 ms, with exponential backoff up to 5 s,
// because the watch can be interrupted.
var ErrOutdated = errors.New("the object has changed in the meantime")

// NewQueue returns a queue in which groups of keys take turns; without groups, keys keep their order. It retries failed keys after 50 ms, with exponential
// backoff up to 5 minutes. The limit is per key. The default rate limiter would also limit all keys together to ten per
// second.
func NewQueue[K comparable](name string, group func(K) string) workqueue.TypedRateLimitingInterface[K] {
	return newQueue(name, group, nil)
}

// newQueue uses the given metrics provider, or that of the process if it is nil.
func newQueue[K comparable](name string, group func(K) string, metrics workqueue.MetricsProvider) workqueue.TypedRateLimitingInterface[K] {
	config := workqueue.TypedQueueConfig[K]{Name: name, MetricsProvider: metrics}
	if group != nil {
		config.Queue = &turns[K]{group: group, waiting: map[string][]K{}}
	}
	keys := workqueue.NewTypedWithConfig(config)
	retries := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Name: name, Queue: keys, MetricsProvider: metrics})
	return queue[K]{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter[K](), workqueue.TypedRateLimitingQueueConfig[K]{DelayingQueue: retries}),
		later:                      workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Queue: keys}),
	}
}

// queue counts only errors as retries. Keys that are requeued without an error wait in a second queue without a name,
// which has no metrics. Both queues add to the same queue of keys, so a key is still handled once at a time.
type queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	later workqueue.TypedDelayingInterface[K]
}

// AddAfter adds the key after the wait. If it is called again before that, the earlier time applies.
func (q queue[K]) AddAfter(key K, wait time.Duration) { q.later.AddAfter(key, wait) }

// ShutDown shuts down both queues, so that no goroutine of them remains.
func (q queue[K]) ShutDown() {
	q.later.ShutDown()
	q.TypedRateLimitingInterface.ShutDown()
}

func (q queue[K]) ShutDownWithDrain() {
	q.later.ShutDownWithDrain()
	q.TypedRateLimitingInterface.ShutDownWithDrain()
}

// limiter returns the rate limiter for errors: see NewQueue.
func limiter[K comparable]() workqueue.TypedRateLimiter[K] {
	return jittered[K]{workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, 5*time.Minute)}
}

// jittered adds up to a tenth to each delay, so that keys that failed together are not retried together.
type jittered[K comparable] struct{ workqueue.TypedRateLimiter[K] }

func (j jittered[K]) When(key K) time.Duration { return Jitter(j.TypedRateLimiter.When(key)) }

// Jitter adds up to a tenth to a delay, so that keys that start together are not repeated together. The wait must not
// be negative.
func Jitter(wait time.Duration) time.Duration {
	return wait + time.Duration(rand.Int64N(int64(wait)/10+1))
}

// Run handles keys until the context ends, and returns when running work has finished. Keys that still wait in the
// queue are not handled. The context of Handle carries the values of ctx, but ends later: see Drain.
func (l *Loop[K]) Run(ctx context.Context) {
	working, abandon := l.draining(ctx)
	defer abandon()
	context.AfterFunc(ctx, l.Queue.ShutDown)
	var workers sync.WaitGroup
	p := &places[K]{group: l.Group, limit: l.Workers, groups: map[string]*group[K]{}}
	p.start = func() {
		workers.Go(func() {
			for l.next(ctx, working, p) {
			}
		})
	}
	for range l.Workers {
		p.start()
	}
	workers.Wait()
}

// draining returns a context for running work, which ends Drain after the given one, or with it if the cause is
// Abandon. The caller must call the second result when all work has finished.
func (l *Loop[K]) draining(ctx context.Context) (context.Context, context.CancelFunc) {
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if l.Abandon != nil && errors.Is(context.Cause(ctx), l.Abandon) {
			abandon()
			return
		}
		late := time.AfterFunc(l.Drain, abandon)
		// All work may finish earlier.
		context.AfterFunc(working, func() { late.Stop() })
	})
	return working, func() {
		stop()
		abandon()
	}
}

// next handles one key, and the keys of its group that waited for it. It returns false when the queue is shut down, or
// the worker has given its place away.
func (l *Loop[K]) next(ctx, working context.Context, p *places[K]) (more bool) {
	key, shutdown := l.Queue.Get()
	if shutdown {
		return false
	}
	if l.Group == nil {
		l.handleKey(ctx, working, key)
		return true
	}
	more = true
	for t := p.begin(key); t != nil; {
		l.handleKey(ctx, working, key)
		key, t, more = p.end(t)
	}
	return more
}

// handleKey handles a key, and adds it to the queue again if necessary. ctx ends with the loop, working after Drain.
// After a panic of Logger or OnHandled, the key is handled again.
func (l *Loop[K]) handleKey(ctx, working context.Context, key K) {
	defer l.Queue.Done(key)
	defer func() {
		if r := recover(); r != nil {
			_ = PanicError(ctx, r)
			l.Queue.AddRateLimited(key)
		}
	}()
	if ctx.Err() != nil {
		return // the next process handles the remaining keys
	}
	logger := l.Logger(ctx, key)
	begun := time.Now()
	after, err := l.handleSafely(klog.NewContext(working, logger), key)
	after, err = l.outdated(key, after, err)
	if l.OnHandled != nil {
		l.OnHandled(key, err, time.Since(begun))
	}
	switch {
	// The error follows from the end of the process.
	case err != nil && working.Err() != nil:
	case err != nil:
		logger.Error(err, "Retrying")
		l.Queue.AddRateLimited(key)
	default:
		l.Queue.Forget(key)
		if after > 0 {
			l.Queue.AddAfter(key, after)
		}
	}
}

// outdated converts ErrOutdated to a delay, which grows with each consecutive ErrOutdated of the key. It returns
// other results unchanged, and resets the delay.
func (l *Loop[K]) outdated(key K, after time.Duration, err error) (time.Duration, error) {
	l.once.Do(func() {
		l.soon = workqueue.NewTypedItemExponentialFailureRateLimiter[K](10*time.Millisecond, 5*time.Second)
	})
	if errors.Is(err, ErrOutdated) {
		return l.soon.When(key), nil
	}
	l.soon.Forget(key)
	return after, err
}

// handleSafely converts a panic to an error, so that one key cannot stop the others.
func (l *Loop[K]) handleSafely(ctx context.Context, key K) (after time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = PanicError(ctx, r)
		}
	}()
	return l.Handle(ctx, key)
}

// ErrPanic is the error for a panic.
var ErrPanic = errors.New("internal error")

// PanicError logs the stack of a panic and returns an error. The value of a panic can contain a value of a
// Secret, so the log contains only its type, except for runtime errors, which contain only types and
// numbers.
func PanicError(ctx context.Context, r any) error {
	what := fmt.Sprintf("%T", r)
	var known runtime.Error
	if err, ok := r.(error); ok && errors.As(err, &known) {
		what = known.Error()
	}
	klog.FromContext(ctx).Error(nil, "Panic", "panic", what, "stack", string(debug.Stack()))
	return fmt.Errorf("%w, see the controller's log: %s", ErrPanic, what)
}
