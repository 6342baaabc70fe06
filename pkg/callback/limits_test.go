package callback

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLimits(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	t.Run("calls from one address", func(t *testing.T) {
		l := newLimits(callRate, clock)
		for range callBurst * callRate {
			assert.True(t, l.allow("a"))
		}
		assert.False(t, l.allow("a"))
		assert.True(t, l.allow("b"), "others may")
		now = now.Add(time.Second / callRate)
		assert.True(t, l.allow("a"), "later it may again")
	})
	t.Run("answers to calls without a valid token", func(t *testing.T) {
		l := newLimits(callRate, clock)
		for range failBurst {
			assert.False(t, l.failed("a"))
		}
		assert.True(t, l.failed("a"))
		assert.True(t, l.allow("a"), "others at that address have valid ones")
		now = now.Add(time.Second / failRate)
		assert.False(t, l.failed("a"))
	})
	t.Run("writes at the same time", func(t *testing.T) {
		l := newLimits(callRate, clock)
		for range maxConcurrentWrites {
			assert.True(t, l.begin(t.Context()))
		}
		hungUp, hangUp := context.WithCancel(t.Context())
		hangUp()
		assert.False(t, l.begin(hungUp))
		l.done()
		assert.True(t, l.begin(t.Context()))
	})
	t.Run("hosts that are remembered", func(t *testing.T) {
		l := newLimits(callRate, clock)
		for range failBurst {
			l.failed("bad")
		}
		for i := range 2 * maxHosts {
			l.host(fmt.Sprint(i))
		}
		assert.LessOrEqual(t, len(l.hosts), maxHosts)
		assert.True(t, l.failed("bad"), "addresses with recent failures are kept longest")
	})
}
