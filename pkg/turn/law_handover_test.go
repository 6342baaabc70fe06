package turn_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestTwoHoldThenReleaseWhateverHappens has two Applications want random, overlapping parts of
// the same objects while requests fail, answers are lost, both controllers die and watches lag.
// No field is held by two. The first lets go: the other one then holds all that it wants. When
// it lets go, too, the objects are what they were before both.
func TestTwoHoldThenReleaseWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		one := newSharing(t, r, false)
		two := one.beside("other", "app-2")
		both := []*sharing{one, two}
		for _, id := range one.names {
			one.make(id)
		}
		for _, s := range both {
			s.edit()
			s.settled, s.storm = true, true
		}
		pick := func() *sharing { return rapid.SampledFrom(both).Draw(r, "who") }
		name := func(s *sharing) { s.lag(rapid.SampledFrom(s.names).Draw(r, "name")) }
		r.Repeat(map[string]func(*rapid.T){
			"a process dies":     func(*rapid.T) { pick().die() },
			"a watch lags":       func(*rapid.T) { name(pick()) },
			"its owner is there": func(*rapid.T) { one.make(rapid.SampledFrom(one.names).Draw(r, "name")) },
			"a round":            func(*rapid.T) { pick().round() },
			"a death, a round":   func(*rapid.T) { s := pick(); s.die(); s.round() },
			"":                   func(*rapid.T) { one.checkClaims() },
		})
		restBoth(both...)
		one.checkClaims()

		first := pick()
		last := both[0]
		if first == last {
			last = both[1]
		}
		for _, s := range []*sharing{first, last} {
			s.letGoOfAll()
			for range rapid.IntRange(0, 4).Draw(r, "rounds") {
				pick().round()
				one.checkClaims()
			}
			restBoth(both...)
			if s == first {
				last.checkHeld()
			}
		}
		one.checkAsBefore()
	})
}

// beside is another Application, with a controller of its own, that shares the same objects.
func (s *sharing) beside(name, uid string) *sharing {
	other := &sharing{newCluster(s.t, s.r, s.server.Server, s.names), s.were, false, rapid.Bool().Draw(s.r, "selecting, too"), false, s.cut, false, true}
	other.cluster.share, other.server = other, s.server
	other.app.Name, other.app.UID, other.app.Spec.Ownership = name, types.UID(uid), v1alpha1.OwnershipShare
	s.two, s.otherApp, other.otherApp = true, other.cluster, s.cluster
	s.app.CreationTimestamp = metav1.NewTime(s.now)
	other.app.CreationTimestamp = metav1.NewTime(s.now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(s.r, "age")) * time.Second))
	other.log = s.log
	other.start()
	return other
}

// letGoOfAll lets everything go, while things go wrong or not.
func (s *sharing) letGoOfAll() {
	s.letsGo = true
	s.storm = rapid.Bool().Draw(s.r, "faults at the end")
	if rapid.Bool().Draw(s.r, "it leaves the manifests") {
		s.submit(nil)
		return
	}
	s.remove()
}

// restBoth goes on until none of some Applications does anything any more.
func restBoth(all ...*sharing) {
	for _, s := range all {
		s.calm()
	}
	for range 20 {
		writes := all[0].server.writes
		for _, s := range all {
			s.rest()
		}
		if writes == all[0].server.writes {
			return
		}
	}
	all[0].fail("no rest")
}

// checkClaims looks whether no field of an object is held by two.
func (s *sharing) checkClaims() {
	s.r.Helper()
	for _, id := range s.names {
		text, _ := get(s.server.objects[id], "metadata", "annotations", v1alpha1.AnnotationHolders).(string)
		var all map[string]struct{ Leaves []string }
		if text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			s.fail("the holders of %s cannot be read: %v", id, err)
		}
		by := map[string]string{}
		for name, holder := range all {
			for _, leaf := range holder.Leaves {
				if by[leaf] != "" && !observer.IsKey(leaf) {
					s.fail("%s of %s is held by two: %s", leaf, id, text)
				}
				by[leaf] = name
			}
		}
	}
}
