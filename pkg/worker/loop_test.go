package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// Keys that fail at the same time are not retried at the same time.
func TestRetriesHaveJitter(t *testing.T) {
	const wait = 50 * time.Millisecond
	queued, seen := limiter[string](), map[time.Duration]bool{}
	for i := range 100 {
		retried := queued.When(strconv.Itoa(i))
		assert.GreaterOrEqual(t, retried, wait)
		assert.LessOrEqual(t, retried, wait+wait/10)
		seen[retried] = true
	}
	assert.Greater(t, len(seen), 50)
}

// noted records what happens to a key.
type noted struct {
	workqueue.TypedRateLimitingInterface[string]
	said []string
}

func (n *noted) AddRateLimited(key string) { n.said = append(n.said, key+" waits") }
func (n *noted) Forget(key string)         { n.said = append(n.said, key+" is forgotten") }
func (n *noted) AddAfter(key string, after time.Duration) {
	n.said = append(n.said, key+" comes after "+after.String())
}

func TestKeyIsRequeued(t *testing.T) {
	for _, row := range []struct {
		name   string
		handle func(end func()) (time.Duration, error)
		said   []string
	}{
		{"that failed", func(func()) (time.Duration, error) { return time.Second, errors.New("no") }, []string{"a waits"}},
		{"that panicked", func(func()) (time.Duration, error) { panic("no") }, []string{"a waits"}},
		{"that failed as the work ended", func(end func()) (time.Duration, error) { end(); return 0, errors.New("no") }, nil},
		{"that is done", func(func()) (time.Duration, error) { return 0, nil }, []string{"a is forgotten"}},
		{"that asks for more", func(func()) (time.Duration, error) { return time.Minute, nil }, []string{"a is forgotten", "a comes after 1m0s"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			queue := &noted{TypedRateLimitingInterface: NewQueue[string]("", nil)}
			working, end := context.WithCancel(t.Context())
			defer end()
			loop := Loop[string]{
				Queue: queue, Logger: func(context.Context, string) klog.Logger { return klog.Logger{} },
				Handle: func(context.Context, string) (time.Duration, error) { return row.handle(end) },
			}
			queue.Add("a")
			assert.True(t, loop.next(t.Context(), working, nil))
			assert.Equal(t, row.said, queue.said)
			assert.Zero(t, queue.Len(), "no key is handled again at once")
		})
	}
}

// A panic outside of Handle must not end the process either.
func TestKeyWhoseLoggerOrResultPanics(t *testing.T) {
	logger := func(context.Context, string) klog.Logger { return klog.Logger{} }
	handle := func(context.Context, string) (time.Duration, error) { return 0, nil }
	for name, loop := range map[string]*Loop[string]{
		"logger": {Handle: handle, Logger: func(context.Context, string) klog.Logger { panic("no") }},
		"result": {Handle: handle, Logger: logger, OnHandled: func(string, error, time.Duration) { panic("no") }},
	} {
		queue := &noted{TypedRateLimitingInterface: NewQueue[string]("", nil)}
		loop.Queue = queue
		queue.Add("a")
		assert.True(t, loop.next(t.Context(), t.Context(), nil), name)
		assert.Equal(t, []string{"a waits"}, queue.said, name)
	}
}

// While a watch is interrupted, all keys are outdated.
func TestOutdatedKeyBacksOff(t *testing.T) {
	queue, outdated := &noted{TypedRateLimitingInterface: NewQueue[string]("", nil)}, true
	loop := Loop[string]{
		Queue: queue, Logger: func(context.Context, string) klog.Logger { return klog.Logger{} },
		OnHandled: func(_ string, err error, _ time.Duration) { assert.NoError(t, err, "it is no failure") },
		Handle: func(context.Context, string) (time.Duration, error) {
			if outdated {
				return time.Minute, fmt.Errorf("writing: %w", ErrOutdated)
			}
			return 0, nil
		},
	}
	handle := func(times int) (said []string) {
		queue.said = nil
		for range times {
			queue.Add("a")
			loop.next(t.Context(), t.Context(), nil)
		}
		return slices.DeleteFunc(queue.said, func(s string) bool { return s == "a is forgotten" })
	}
	assert.Equal(t, []string{"a comes after 10ms", "a comes after 20ms", "a comes after 40ms"}, handle(3))
	assert.Contains(t, handle(10), "a comes after 5s")
	outdated = false
	assert.Empty(t, handle(1))
	outdated = true
	assert.Equal(t, []string{"a comes after 10ms"}, handle(1))
}

// The value of a panic can be a value of a Secret.
func TestPanicLogOmitsValue(t *testing.T) {
	recovered := func(f func()) (log string, err error) {
		var text bytes.Buffer
		ctx := klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&text))))
		defer func() {
			err = PanicError(ctx, recover())
			log = text.String()
		}()
		f()
		return "", nil
	}
	log, err := recovered(func() { panic("canary") })
	assert.ErrorIs(t, err, ErrPanic)
	assert.NotContains(t, err.Error()+log, "canary")
	assert.Contains(t, log, "loop_test.go", "the stack")

	log, err = recovered(func() {
		one := []string{log}
		_ = one[len(log)+1]
	})
	assert.ErrorContains(t, err, "index out of range")
	assert.Contains(t, log, "loop_test.go")
}

// counted counts the retries of queues.
type counted struct {
	workqueue.MetricsProvider
	retries atomic.Int64
}

func (c *counted) Inc() { c.retries.Add(1) }

func (c *counted) NewRetriesMetric(string) workqueue.CounterMetric { return c }

func TestOnlyErrorsCountAsRetries(t *testing.T) {
	metrics := &counted{MetricsProvider: silent{}}
	queue := newQueue[string]("test", nil, metrics)
	handled, fail := make(chan string), true
	loop := Loop[string]{
		Queue: queue, Workers: 1, Logger: func(context.Context, string) klog.Logger { return logr.Discard() },
		Handle: func(_ context.Context, key string) (time.Duration, error) {
			handled <- key
			if fail {
				fail = false
				return 0, errors.New("once")
			}
			return time.Millisecond, nil
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); loop.Run(ctx) }()
	queue.Add("app")
	for range 5 {
		assert.Equal(t, "app", <-handled)
	}
	cancel()
	for running := true; running; {
		select {
		case <-handled:
		case <-ended:
			running = false
		}
	}
	assert.Equal(t, int64(1), metrics.retries.Load(), "what is looked at later is no retry")
}

// silent is a metric that counts nothing.
type silent struct{}

func (silent) Inc() {}

func (silent) Dec() {}

func (silent) Set(float64) {}

func (silent) Observe(float64) {}

func (s silent) NewDepthMetric(string) workqueue.GaugeMetric { return s }

func (s silent) NewAddsMetric(string) workqueue.CounterMetric { return s }

func (s silent) NewLatencyMetric(string) workqueue.HistogramMetric { return s }

func (s silent) NewWorkDurationMetric(string) workqueue.HistogramMetric { return s }

func (s silent) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric { return s }

func (s silent) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return s
}

func (s silent) NewRetriesMetric(string) workqueue.CounterMetric { return s }
