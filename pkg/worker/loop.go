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

// Loop handles keys.
type Loop[K comparable] struct {
	Queue workqueue.TypedRateLimitingInterface[K]
	// Workers is how many keys are handled at the same time.
	Workers int
	// Handle returns when to handle the key again, 0 for when it is asked for. After
	// an error that is the queue's business, and after ErrOutdated very soon.
	Handle func(ctx context.Context, key K) (after time.Duration, err error)
	// Logger is the logger of one handling.
	Logger func(ctx context.Context, key K) klog.Logger
	// Handled is told how it went; nil for nobody.
	Handled func(key K, err error, took time.Duration)
	// Drain is how long what is being handled when the context ends may take to be done.
	// If another process leads then (Abandon is the cause), it is 0.
	Drain   time.Duration
	Abandon error

	once sync.Once
	// soon is when to handle again what was outdated.
	soon workqueue.TypedRateLimiter[K]
}

// ErrOutdated is that a key was handled as it is no longer: what it is now is on its way.
// It is no failure. It is handled again after 10 ms, twice as long each time, up to 5 s:
// what is on its way may be late, while a watch is away.
var ErrOutdated = errors.New("it has changed meanwhile")

// NewQueue is a queue that lets a key that failed be handled again after 50 ms, twice as
// long each time, up to 5 minutes: per key only, where the default lets ten a second
// through, all together.
func NewQueue[K comparable](name string) workqueue.TypedRateLimitingInterface[K] {
	return newQueue[K](name, nil)
}

// newQueue has metrics of a provider; nil for that of the process.
func newQueue[K comparable](name string, metrics workqueue.MetricsProvider) workqueue.TypedRateLimitingInterface[K] {
	keys := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[K]{Name: name, MetricsProvider: metrics})
	retries := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Name: name, Queue: keys, MetricsProvider: metrics})
	return queue[K]{
		TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter[K](), workqueue.TypedRateLimitingQueueConfig[K]{DelayingQueue: retries}),
		later:                      workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Queue: keys}),
	}
}

// queue is one whose retries are counted as such, and nothing else is: what is to be
// handled later without an error waits in a place of its own, which has no name.
type queue[K comparable] struct {
	workqueue.TypedRateLimitingInterface[K]
	later workqueue.TypedDelayingInterface[K]
}

func (q queue[K]) AddAfter(key K, wait time.Duration) { q.later.AddAfter(key, wait) }

func (q queue[K]) ShutDown() {
	q.later.ShutDown()
	q.TypedRateLimitingInterface.ShutDown()
}

func (q queue[K]) ShutDownWithDrain() {
	q.later.ShutDownWithDrain()
	q.TypedRateLimitingInterface.ShutDownWithDrain()
}

func limiter[K comparable]() workqueue.TypedRateLimiter[K] {
	return jittered[K]{workqueue.NewTypedItemExponentialFailureRateLimiter[K](50*time.Millisecond, 5*time.Minute)}
}

// jittered waits up to a tenth longer, so that not all come back at one moment.
type jittered[K comparable] struct{ workqueue.TypedRateLimiter[K] }

func (j jittered[K]) When(key K) time.Duration { return Spread(j.TypedRateLimiter.When(key)) }

// Spread is up to a tenth longer, so that what begins at one moment does not come back at
// one.
func Spread(wait time.Duration) time.Duration {
	return wait + time.Duration(rand.Int64N(int64(wait)/10+1))
}

// Run returns when the context has ended and what was being handled is done.
func (l *Loop[K]) Run(ctx context.Context) {
	working, abandon := l.draining(ctx)
	defer abandon()
	context.AfterFunc(ctx, l.Queue.ShutDown)
	var workers sync.WaitGroup
	for range l.Workers {
		workers.Go(func() {
			for l.next(ctx, working) {
			}
		})
	}
	workers.Wait()
}

// draining is the context of work that is finished though the other has ended, for a
// while.
func (l *Loop[K]) draining(ctx context.Context) (context.Context, context.CancelFunc) {
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if l.Abandon != nil && errors.Is(context.Cause(ctx), l.Abandon) {
			abandon()
			return
		}
		late := time.AfterFunc(l.Drain, abandon)
		context.AfterFunc(working, func() { late.Stop() })
	})
	return working, func() {
		stop()
		abandon()
	}
}

// next handles one key. It is false when there is no more work.
func (l *Loop[K]) next(ctx, working context.Context) bool {
	key, shutdown := l.Queue.Get()
	if shutdown {
		return false
	}
	defer l.Queue.Done(key)
	if ctx.Err() != nil {
		return true // what is not begun is left to the next process
	}
	logger := l.Logger(ctx, key)
	begun := time.Now()
	after, err := l.safely(klog.NewContext(working, logger), key)
	after, err = l.outdated(key, after, err)
	if l.Handled != nil {
		l.Handled(key, err, time.Since(begun))
	}
	switch {
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
	return true
}

// outdated makes of ErrOutdated when to handle the key again.
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

// safely turns a panic into an error: one key must not stop the others.
func (l *Loop[K]) safely(ctx context.Context, key K) (after time.Duration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = Panicked(ctx, r)
		}
	}()
	return l.Handle(ctx, key)
}

// ErrPanic is what a panic becomes.
var ErrPanic = errors.New("internal error")

// Panicked logs where a panic came from and makes an error of it. What it was
// called with may be a value of a Secret, so only an error of the runtime, which
// has types and numbers, is told.
func Panicked(ctx context.Context, r any) error {
	what := fmt.Sprintf("%T", r)
	var known runtime.Error
	if err, ok := r.(error); ok && errors.As(err, &known) {
		what = known.Error()
	}
	klog.FromContext(ctx).Error(nil, "Panic", "panic", what, "stack", string(debug.Stack()))
	return fmt.Errorf("%w, see the controller's log: %s", ErrPanic, what)
}
