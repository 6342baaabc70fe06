package shard_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/shard"
)

func TestFenceOpensOnRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := shard.NewFence(10 * time.Second)
		assert.ErrorIs(t, f.Err(), shard.ErrNotHeld, "nothing was renewed yet")
		f.Renewed(time.Now())
		assert.NoError(t, f.Err())
		time.Sleep(9 * time.Second) //nolint:forbidigo // the clock of the bubble
		assert.NoError(t, f.Err())
		time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
		assert.ErrorIs(t, f.Err(), shard.ErrNotHeld, "however long nothing has run meanwhile")
		f.Renewed(time.Now())
		assert.NoError(t, f.Err())
		f.Close()
		assert.ErrorIs(t, f.Err(), shard.ErrNotHeld)
	})
}

// The monotonic clock stops while a machine is suspended, so the fence must check the wall clock, too.
func TestFenceChecksWallClock(t *testing.T) {
	f := shard.NewFence(time.Hour)
	f.Renewed(time.Now().Round(0).Add(-2 * time.Hour))
	assert.ErrorIs(t, f.Err(), shard.ErrNotHeld)
	f.Renewed(time.Now().Round(0).Add(-time.Minute))
	assert.NoError(t, f.Err())
}
