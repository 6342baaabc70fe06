package worker

import (
	"bytes"
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
