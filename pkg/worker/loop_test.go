package worker

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// What fails at one moment for many does not come back at one moment.
func TestRetriesAreSpread(t *testing.T) {
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

// noted writes down what becomes of a key.
type noted struct {
	workqueue.TypedRateLimitingInterface[string]
	said []string
}

func (n *noted) AddRateLimited(key string) { n.said = append(n.said, key+" waits") }
func (n *noted) Forget(key string)         { n.said = append(n.said, key+" is forgotten") }
func (n *noted) AddAfter(key string, after time.Duration) {
	n.said = append(n.said, key+" comes after "+after.String())
}

func TestWhatBecomesOfAKey(t *testing.T) {
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
			queue := &noted{TypedRateLimitingInterface: NewQueue[string]("")}
			working, end := context.WithCancel(t.Context())
			defer end()
			loop := Loop[string]{
				Queue: queue, Logger: func(context.Context, string) klog.Logger { return klog.Logger{} },
				Handle: func(context.Context, string) (time.Duration, error) { return row.handle(end) },
			}
			queue.Add("a")
			assert.True(t, loop.next(t.Context(), working))
			assert.Equal(t, row.said, queue.said)
			assert.Zero(t, queue.Len(), "nothing comes back at once")
		})
	}
}

// What a panic is called with may be a value of a Secret.
func TestAPanicIsToldWithoutItsValue(t *testing.T) {
	recovered := func(f func()) (log string, err error) {
		var text bytes.Buffer
		ctx := klog.NewContext(context.Background(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&text))))
		defer func() {
			err = Panicked(ctx, recover())
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
