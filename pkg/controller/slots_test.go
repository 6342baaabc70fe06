package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/shard"
)

var errLeaseLost = errors.New("the lease is lost")

// leased is a lease that a test can withdraw. asked counts the requests that it denied.
type leased struct {
	lost  atomic.Bool
	asked atomic.Int64
}

func (l *leased) held() error {
	if !l.lost.Load() {
		return nil
	}
	l.asked.Add(1)
	return errLeaseLost
}

// inSlots submits Applications until both slots have at least two, and returns their names by slot.
func (f *fixture) inSlots() (names [2][]string) {
	f.t.Helper()
	for i := 0; len(names[0]) < 2 || len(names[1]) < 2; i++ {
		name := fmt.Sprintf("app-%d", i)
		f.Submit(name, fmt.Sprintf(`{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}, data: {key: ours}}]}`, name))
		slot := shard.SlotForUID(string(f.Application(name).UID), 2)
		names[slot] = append(names[slot], name)
	}
	return names
}

// driftAll makes the objects of the Applications drift. Later checks ignore all earlier requests.
func (f *fixture) driftAll(names []string) {
	f.t.Helper()
	f.Quiet(time.Second)
	f.Mark()
	for _, name := range names {
		f.Patch("them", configMaps, name, `{data: {key: theirs}}`)
	}
}

func (f *fixture) awaitOurs(names []string) {
	f.t.Helper()
	for _, name := range names {
		f.AwaitValue(configMaps, name, "ours", "data", "key")
	}
}

// writtenTo returns the write requests for objects with these names.
func (f *fixture) writtenTo(names []string) testcluster.Requests {
	f.t.Helper()
	return f.Requests().Writes().Where(func(r testcluster.Request) bool { return slices.Contains(names, r.Name) })
}

// A controller reconciles only the Applications in its slots. After a lease has expired, the controller
// sends nothing for that slot, even before it notices. It continues with the next lease.
func TestOnlyASlotThatIsHeldIsWorkedOn(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	names := f.inSlots()
	i := f.Run(controller.Options{Slots: 2})
	first, second := &leased{}, &leased{}
	i.Begin(0, first.held)
	f.awaitOurs(names[0])
	assert.Empty(t, f.writtenTo(names[1]))
	i.Begin(1, second.held)
	f.awaitOurs(names[1])

	first.lost.Store(true)
	f.driftAll(slices.Concat(names[0], names[1]))
	f.awaitOurs(names[1])
	f.eventually("a write that is refused", func() bool { return first.asked.Load() > 0 })
	assert.Empty(t, f.writtenTo(names[0]), "nothing is sent beyond the lease")
	i.End(0, true)
	f.driftAll(names[1])
	f.awaitOurs(names[1])
	assert.Empty(t, f.writtenTo(names[0]), "nor afterwards")
	i.Begin(0, second.held)
	f.awaitOurs(names[0])

	f.Quiet(time.Second)
	i.End(1, false)
	f.driftAll(slices.Concat(names[0], names[1]))
	f.awaitOurs(names[0])
	assert.Empty(t, f.writtenTo(names[1]), "the Applications of a released slot are not reconciled")
	i.Begin(1, second.held)
	f.awaitOurs(names[1])
}
