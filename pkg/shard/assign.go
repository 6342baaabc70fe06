package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"math/bits"
	"slices"
)

// SlotForUID returns the slot, out of n, of the object with a UID. Each slot is a range of the hash that API
// servers use for sharded lists (KEP-5866).
func SlotForUID(uid string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return slotForHash(h.Sum64(), n)
}

// SlotForName returns the slot, out of n, of an object that does not exist and therefore has no UID.
func SlotForName(name string, n int) int {
	digest := sha256.Sum256([]byte(name)) // the last letters hardly affect the high bits of an FNV hash
	return slotForHash(binary.BigEndian.Uint64(digest[:]), n)
}

// slotForHash returns the upper bits of hash times n, so each slot is one range of hashes. It treats n below 1 as 1.
func slotForHash(hash uint64, n int) int {
	slot, _ := bits.Mul64(hash, uint64(max(n, 1)))
	return int(slot)
}

// Assign returns the wanted holder of each slot, given the current holders ("" for none).
//
// The numbers of slots of two members differ by at most one, and no slot moves without need. The result
// depends only on the arguments, so all replicas with the same view agree. Without members, all slots are
// unassigned.
func Assign(holders, members []string) []string {
	wanted := make([]string, len(holders))
	if len(members) == 0 {
		return wanted
	}
	room := capacities(holders, members)
	for slot, holder := range holders {
		// A holder keeps its first slots, up to its share.
		if room[holder] > 0 {
			wanted[slot] = holder
			room[holder]--
		}
	}
	// Free slots are assigned in the order of the names, so that all replicas agree.
	next := slices.Sorted(slices.Values(members))
	for slot := range wanted {
		for wanted[slot] == "" {
			if room[next[0]] == 0 {
				next = next[1:]
				continue
			}
			wanted[slot] = next[0]
			room[next[0]]--
		}
	}
	return wanted
}

// capacities returns the number of slots for each member. If the slots cannot be divided equally, the members that
// hold the most slots now get one more, so that fewer slots move. Holders that are no members have no room.
func capacities(holders, members []string) map[string]int {
	has := map[string]int{}
	for _, holder := range holders {
		has[holder]++
	}
	byLoad := slices.SortedFunc(slices.Values(members), func(a, b string) int {
		return cmp.Or(cmp.Compare(has[b], has[a]), cmp.Compare(a, b))
	})
	room := map[string]int{}
	for i, member := range byLoad {
		room[member] = len(holders) / len(members)
		if i < len(holders)%len(members) {
			room[member]++
		}
	}
	return room
}
