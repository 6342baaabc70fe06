package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLargeApplicationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRooms(100 << 20)
		enter := func(namespace string, mib int) (leave func(), waited time.Duration) {
			t.Helper()
			begin := time.Now()
			leave, err := r.enter(t.Context(), namespace, mib<<20)
			require.NoError(t, err)
			return leave, time.Since(begin)
		}
		hanging, waited := enter("a", 60)
		assert.Zero(t, waited)
		small, waited := enter("a", 1)
		assert.Zero(t, waited, "a small one needs no room")
		small()
		beside, waited := enter("b", 40)
		assert.Zero(t, waited, "there is room for both")
		other, waited := enter("c", 4)
		assert.Equal(t, patience, waited, "a small one of another namespace does not wait for longer")
		other()
		time.AfterFunc(time.Hour, beside)
		large, waited := enter("c", 5)
		assert.Equal(t, time.Hour, waited, "a larger one waits for room")
		large()

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := r.enter(ctx, "a", 50<<20)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the same namespace waits")
		time.AfterFunc(time.Minute, hanging)
		next, waited := enter("a", 50)
		assert.Equal(t, time.Minute, waited)
		next()
		assert.Empty(t, r.of)
		whole, waited := enter("d", 100)
		assert.Zero(t, waited, "all room is free again")
		whole()
	})
}

func TestAnEndedContextTakesNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRooms(100 << 20)
		first, err := r.enter(t.Context(), "a", 100<<20)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = r.enter(ctx, "b", 100<<20)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		first()
		leave, err := r.enter(t.Context(), "b", 100<<20)
		require.NoError(t, err)
		leave()
		assert.Empty(t, r.of)
	})
}
