package shard_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/util/uuid"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/shard"
)

var names = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})

func TestEverySlotIsAssigned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfNDistinct(names, 1, 5, rapid.ID[string]).Draw(t, "members")
		holders := rapid.SliceOfN(rapid.OneOf(names, rapid.Just("")), 1, 12).Draw(t, "holders")

		wanted := shard.Assign(holders, members)

		load := map[string]int{}
		kept := 0
		for slot, member := range wanted {
			require.Contains(t, members, member, "slot %d", slot)
			load[member]++
			if member == holders[slot] {
				kept++
			}
		}
		least, most := len(holders), 0
		for _, member := range members {
			least, most = min(least, load[member]), max(most, load[member])
		}
		require.LessOrEqual(t, most-least, 1, "%v", wanted)
		require.Equal(t, mostKept(holders, members), kept, "no slot moves that need not: %v → %v", holders, wanted)
		shuffled := slices.Clone(members)
		slices.Reverse(shuffled)
		require.Equal(t, wanted, shard.Assign(holders, shuffled), "all say the same")
	})
}

// mostKept returns how many slots can keep their holder at most: the members with the most slots get the
// larger shares.
func mostKept(holders, members []string) int {
	var loads []int
	for _, member := range members {
		load := 0
		for _, holder := range holders {
			if holder == member {
				load++
			}
		}
		loads = append(loads, load)
	}
	slices.Sort(loads)
	slices.Reverse(loads)
	kept := 0
	for i, load := range loads {
		share := len(holders) / len(members)
		if i < len(holders)%len(members) {
			share++
		}
		kept += min(load, share)
	}
	return kept
}

// Replicas that release and take one slot at a time, in any order, converge. They need no more moves than
// the first assignment.
func TestReplicasConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.SliceOfNDistinct(names, 1, 5, rapid.ID[string]).Draw(t, "members")
		holders := rapid.SliceOfN(rapid.OneOf(names, rapid.Just("")), 1, 12).Draw(t, "holders")
		for slot, holder := range holders {
			if !slices.Contains(members, holder) {
				holders[slot] = "" // its Lease has expired
			}
		}
		asked := releases(holders, shard.Assign(holders, members))
		released := 0
		for moves := 0; ; moves++ {
			require.LessOrEqual(t, moves, 2*len(holders), "they do not come to rest")
			wanted := shard.Assign(holders, members)
			var open []int
			for slot := range holders {
				if holders[slot] != wanted[slot] {
					open = append(open, slot)
				}
			}
			if len(open) == 0 {
				break
			}
			slot := rapid.SampledFrom(open).Draw(t, "slot")
			if holders[slot] != "" {
				holders[slot] = "" // the holder releases it
				released++
			} else {
				holders[slot] = wanted[slot]
			}
		}
		require.Equal(t, asked, released)
	})
}

// releases returns the number of slots that change their holder.
func releases(holders, wanted []string) int {
	n := 0
	for slot, holder := range holders {
		if holder != "" && holder != wanted[slot] {
			n++
		}
	}
	return n
}

func TestSlotsHaveEqualSize(t *testing.T) {
	of := map[string]func(i int) int{
		"by UID":  func(int) int { return shard.SlotForUID(string(uuid.NewUUID()), 8) },
		"by name": func(i int) int { return shard.SlotForName(fmt.Sprintf("shop/app-%d", i), 8) },
	}
	for name, slot := range of {
		t.Run(name, func(t *testing.T) {
			n := make([]int, 8)
			for i := range 8000 {
				n[slot(i)]++
			}
			for i := range n {
				assert.InDelta(t, 1000, n[i], 250, "slot %d", i)
			}
		})
	}
	assert.Equal(t, 0, shard.SlotForUID("any", 1))
	assert.Equal(t, 0, shard.SlotForUID("any", 0))
}

func TestAssignWithoutMembers(t *testing.T) {
	assert.Equal(t, []string{"", ""}, shard.Assign([]string{"a", ""}, nil))
}

// Sharded lists of API servers use ranges of the same hash (KEP-5866).
func TestSlotsMatchServerShardRanges(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 64} {
		for range 200 {
			uid := string(uuid.NewUUID())
			hash, ok := new(big.Int).SetString(sharding.HashField(uid), 16)
			require.True(t, ok)
			slot := hash.Mul(hash, big.NewInt(int64(n)))
			require.EqualValues(t, slot.Rsh(slot, 64).Int64(), shard.SlotForUID(uid, n), "slot of %d of %s", n, uid)
		}
	}
}
