package controller

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/shard"
)

// slotted returns a controller with two slots and without an API server, and the name of an Application
// in its first slot.
func slotted(t *testing.T) (*Controller, types.NamespacedName) {
	t.Helper()
	client, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	key := types.NamespacedName{Namespace: "shop", Name: "a"}
	for shard.SlotForName(key.String(), 2) != 0 {
		key.Name += "a"
	}
	return New(client, Options{Slots: 2, Drain: time.Hour}), key
}

func heldFor(err error) func() error { return func() error { return err } }

func TestASlotEndsAfterItsReconciles(t *testing.T) {
	for _, lost := range []bool{false, true} {
		c, key := slotted(t)
		_, _, mine := c.slots.enter(t.Context(), key)
		require.False(t, mine, "the slot has not begun")
		c.Begin(1, heldFor(nil))
		require.False(t, c.slots.isAssigned(key), "another has")
		c.Begin(0, heldFor(nil))
		inside, leave, mine := c.slots.enter(t.Context(), key)
		require.True(t, mine)

		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.End(0, lost)
		}()
		require.Eventually(t, func() bool { return !c.slots.isAssigned(key) }, time.Minute, time.Millisecond)
		_, _, mine = c.slots.enter(t.Context(), key)
		assert.False(t, mine, "no reconcile begins any more")
		if lost {
			<-inside.Done() // the reconcile in progress is canceled
		} else {
			require.NoError(t, inside.Err(), "what was begun is finished")
		}
		select {
		case <-ended:
			t.Fatal("the slot has ended before its reconcile")
		default:
		}
		if !lost {
			c.End(0, true) // the Lease is lost meanwhile: the call only cancels, because a later tenancy may begin
			<-inside.Done()
		}
		leave()
		<-ended
		<-inside.Done()
		assert.Equal(t, 1, c.slots.number())
		c.Begin(0, heldFor(nil))
		assert.True(t, c.slots.isAssigned(key))
	}
}

// When a slot ends, the controller drops its state of the slot's Applications. Another process then
// rebuilds that state.
func TestNothingIsRememberedBeyondASlot(t *testing.T) {
	c, _ := slotted(t)
	c.Begin(0, heldFor(nil))
	c.Begin(1, heldFor(nil))
	for i := range 20 {
		uid := types.UID([]string{"ab", "cd", "ef", "01"}[i%4] + string(rune('a'+i)))
		c.registry.names[uid], c.registry.memories[uid] = types.NamespacedName{Namespace: "shop", Name: string(uid)}, &memory{}
		c.registry.changed[uid], c.registry.arrived[uid] = struct{}{}, struct{}{}
		c.registry.orphans[uid] = struct{}{}
	}
	c.End(0, true)
	assert.NotEmpty(t, c.registry.names)
	for _, known := range []int{len(c.registry.names), len(c.registry.memories), len(c.registry.changed), len(c.registry.arrived)} {
		assert.Equal(t, len(c.registry.names), known)
		assert.Less(t, known, 20)
	}
	for uid := range c.registry.names {
		assert.Equal(t, 1, shard.SlotForUID(string(uid), 2))
	}
	assert.Len(t, c.registry.orphans, 20, "what a version has shown is not seen again")
}

func TestAReconcileIsFencedByItsSlot(t *testing.T) {
	c, key := slotted(t)
	lost := errors.New("lost")
	c.Begin(0, heldFor(lost))
	inside, leave, mine := c.slots.enter(t.Context(), key)
	require.True(t, mine)
	defer leave()
	writer, err := c.client.WriterFor("shop", "applier")
	require.NoError(t, err)
	_, err = writer.Create(inside, cluster.Location{}, map[string]any{})
	assert.ErrorIs(t, err, lost)
}
