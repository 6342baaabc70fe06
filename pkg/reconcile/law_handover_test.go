package reconcile_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestSeveralHoldThenReleaseWhateverHappens creates two or three Applications that hold random, overlapping
// parts of the same objects. Meanwhile requests fail, responses are lost, the controllers die and watches
// lag. No two Applications hold the same field. The Applications release the objects one after the other or
// two at once, and each time the others then hold all their desired fields. After the last release, all objects have
// their original content.
func TestSeveralHoldThenReleaseWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		one := newSharing(t, r, false)
		all := []*sharing{one}
		for i := range rapid.IntRange(1, 2).Draw(r, "others") {
			all = append(all, one.beside(all, fmt.Sprint("other-", i), fmt.Sprint("app-", i+2)))
		}
		for _, id := range one.names {
			one.make(id)
		}
		for _, s := range all {
			s.edit()
			s.settled, s.storm = true, true
		}
		pick := func() *sharing { return rapid.SampledFrom(all).Draw(r, "who") }
		name := func(s *sharing) { s.lag(rapid.SampledFrom(s.names).Draw(r, "name")) }
		r.Repeat(map[string]func(*rapid.T){
			"a process dies":     func(*rapid.T) { pick().die() },
			"a watch lags":       func(*rapid.T) { name(pick()) },
			"its owner is there": func(*rapid.T) { one.make(rapid.SampledFrom(one.names).Draw(r, "name")) },
			"a label changes":    func(*rapid.T) { one.label(rapid.SampledFrom(one.names).Draw(r, "name")) },
			"the spec changes":   func(*rapid.T) { pick().again() },
			"a round":            func(*rapid.T) { pick().round() },
			"a death, a round":   func(*rapid.T) { s := pick(); s.die(); s.round() },
			"":                   func(*rapid.T) { one.checkClaims() },
		})
		restAll(all...)
		one.checkClaims()
		for range rapid.IntRange(0, 3).Draw(r, "drifts") {
			pick().drift(rapid.SampledFrom(one.names).Draw(r, "name"))
			restAll(all...)
			one.checkClaims()
		}

		left := rapid.Permutation(all).Draw(r, "order")
		for len(left) > 0 {
			left[0].letGoOfAll()
			left = left[1:]
			if len(left) > 0 && rapid.Bool().Draw(r, "two at once") {
				left[0].letGoOfAll()
				left = left[1:]
			}
			for range rapid.IntRange(0, 4).Draw(r, "rounds") {
				pick().round()
				one.checkClaims()
			}
			restAll(all...)
			if len(left) == 1 {
				left[0].checkHeld()
			}
		}
		one.checkAsBefore()
	})
}

// beside adds another Application, with its own controller, that shares the same objects.
func (s *sharing) beside(all []*sharing, name, uid string) *sharing {
	other := &sharing{newCluster(s.t, s.r, s.server.Server, s.names), s.were, false, rapid.Bool().Draw(s.r, "selecting, too"), false, s.cut, false, nil}
	other.cluster.share, other.server = other, s.server
	other.app.Name, other.app.UID, other.app.Spec.Ownership = name, types.UID(uid), v1alpha1.OwnershipShare
	for _, known := range all {
		known.others[name], other.others[known.app.Name] = other.cluster, known.cluster
	}
	s.app.CreationTimestamp = metav1.NewTime(s.now)
	other.app.CreationTimestamp = metav1.NewTime(s.now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(s.r, "age")) * time.Second))
	other.log = s.log
	other.start()
	return other
}

// letGoOfAll releases all objects, with or without faults.
func (s *sharing) letGoOfAll() {
	s.letsGo = true
	s.storm = rapid.Bool().Draw(s.r, "faults at the end")
	if rapid.Bool().Draw(s.r, "it leaves the manifests") {
		s.submit(nil)
		return
	}
	s.remove()
}

// restAll reconciles the Applications until none of them changes anything any more.
func restAll(all ...*sharing) {
	for _, s := range all {
		s.calm()
	}
	before := ""
	for range 20 {
		for _, s := range all {
			s.rest()
		}
		after := fmt.Sprint(all[0].server.writes)
		for _, s := range all {
			after += fmt.Sprint(" ", s.app.ResourceVersion, s.over)
		}
		if after == before {
			return
		}
		before = after
	}
	all[0].fail("no rest")
}

// checkClaims checks that no field of an object is held by two Applications.
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
