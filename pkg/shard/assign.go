package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"math/bits"
	"slices"
)

// Of is the slot, of n, of the object with a UID. Each slot is a range of the hash that API
// servers shard lists by (KEP-5866).
func Of(uid string, n int) int {
	h := fnv.New64a()
	h.Write([]byte(uid))
	return ranged(h.Sum64(), n)
}

// OfName is the slot, of n, of what is not there, and has no UID.
func OfName(name string, n int) int {
	digest := sha256.Sum256([]byte(name)) // in FNV the last letters do not reach the first bits
	return ranged(binary.BigEndian.Uint64(digest[:]), n)
}

func ranged(hash uint64, n int) int {
	slot, _ := bits.Mul64(hash, uint64(max(n, 1)))
	return int(slot)
}

// Assign says which of the members is to hold each slot, as holders do now ("" where none
// does). No member has two slots more than another, and no slot moves that need not. All
// who see the same say the same. Without members nobody holds anything.
func Assign(holders, members []string) []string {
	wanted := make([]string, len(holders))
	if len(members) == 0 {
		return wanted
	}
	room := rooms(holders, members)
	for slot, holder := range holders {
		if room[holder] > 0 {
			wanted[slot] = holder
			room[holder]--
		}
	}
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

// rooms says how many slots each member is to have. Those who have the most now have one
// more, if they cannot all have the same.
func rooms(holders, members []string) map[string]int {
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
