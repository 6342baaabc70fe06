package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Handed is a field that is let go and not restored: another Application waits for it, and has
// it from now on, with what it was before both.
type Handed struct {
	ID   manifest.ID
	Path string
	// To is the Application, as namespace/name.
	To string
}

// handing is what one Application hands on to others as it lets go of fields of an object.
type handing struct {
	app   *v1alpha1.Application
	id    manifest.ID
	live  map[string]any
	names holders // who holds what from now on
	given []Handed
	// passes is true if names say anything new, alone if nothing is handed on.
	passes, alone bool
}

// handOn hands a leaf that would be restored on to the Application that waits for it, and the key
// of an element to one that names it, too: that is in the element. It is false if there is none.
func (g *handing) handOn(b v1alpha1.BaselineField) bool {
	return g.handToOldest(b, func(other holder) bool {
		return slices.Contains(other.Wants, b.Path) || observer.IsKey(b.Path) && slices.Contains(other.Leaves, b.Path)
	})
}

// handToOldest hands a leaf on to the oldest of some Applications. It is false if there is none,
// or no room to say so. An owner gets nothing: what he has made was nothing before, and what he
// has adopted is on his own record.
func (g *handing) handToOldest(b v1alpha1.BaselineField, isHeir func(holder) bool) bool {
	heir := g.oldest(isHeir)
	return heir != "" && g.handTo(heir, b)
}

// waiting is the Application to which a leaf would be handed on; empty for none.
func (g *handing) waiting(leaf string) string {
	return g.oldest(func(other holder) bool { return slices.Contains(other.Wants, leaf) })
}

// oldest is the oldest of some Applications that can be given something; empty for none.
func (g *handing) oldest(isHeir func(holder) bool) (heir string) {
	if own, named := g.names.of(g.app); g.alone || !named || own.Leaves == nil {
		return "" // or it is not known what is ours
	}
	var oldest holder
	for _, name := range slices.Sorted(maps.Keys(g.names)) {
		var other holder
		if name == holderName(g.app) || name == ownerIn(g.live, g.id) || json.Unmarshal(g.names[name], &other) != nil {
			continue
		}
		if other.Leaves != nil && isHeir(other) && (heir == "" || other.older(oldest)) {
			heir, oldest = name, other
		}
	}
	return heir
}

// handPlace has an Application that holds something in a place that we made, and that stays for
// that, take it away with the last of its own: nothing of it was there before.
func (g *handing) handPlace(root string, now metav1.Time) {
	if isMetadataMap(root) {
		return // it is nobody's
	}
	g.handToOldest(v1alpha1.BaselineField{Path: root, From: root, Time: now}, func(other holder) bool {
		return slices.ContainsFunc(other.Leaves, func(leaf string) bool { return leaf != root && observer.Under(leaf, root) })
	})
}

// isPlace reports whether what is handed on is no field, but the place that others are in.
func isPlace(b v1alpha1.BaselineField) bool { return b.Path == b.From && len(b.Held) == 0 }

// handTo has the holders say that a leaf is another one's, with its baseline.
func (g *handing) handTo(heir string, b v1alpha1.BaselineField) bool {
	b.HandedOnBy = append(slices.Clone(b.HandedOnBy), holderName(g.app))
	after := g.names.handed(g.app, heir, b, text(g.live, "metadata", "uid"))
	if after == nil {
		return false
	}
	g.names = after
	if g.passes = true; !isPlace(b) {
		g.given = append(g.given, Handed{g.id, b.Path, heir})
	}
	return true
}

// handed are the holders after one has handed a leaf on to another one; nil if there is no room
// for that.
func (h holders) handed(app *v1alpha1.Application, heir string, b v1alpha1.BaselineField, uid string) holders {
	var to holder
	if json.Unmarshal(h[heir], &to) != nil {
		return nil
	}
	if to.Of != uid {
		to.Of, to.Handed = uid, nil
	}
	to.Handed = append(to.Handed, b)
	to.Wants = slices.DeleteFunc(to.Wants, func(leaf string) bool { return leaf == b.Path })
	if !isPlace(b) && !slices.Contains(to.Leaves, b.Path) {
		to.Leaves = append(to.Leaves, b.Path)
		slices.Sort(to.Leaves)
	}
	own, _ := h.of(app)
	own.Leaves = slices.DeleteFunc(own.Leaves, func(leaf string) bool { return leaf == b.Path })
	after := maps.Clone(h)
	after[heir], after[holderName(app)] = marshal(to), marshal(own)
	if len(marshal(after)) > maxHolders {
		return nil
	}
	return after
}

// field is the change of a live object's annotation to these holders; none if it is as it was.
func (h holders) field(live map[string]any) []delta.Difference {
	at, ok := delta.Locate(nil, live, sharedMarkKeys[1].path())
	if !ok || !at.Value.Set || at.Value.Any == string(marshal(h)) {
		return nil
	}
	return []delta.Difference{at.Restore(string(marshal(h)))}
}

// formerly are the Applications that held something of an object before us, as the baselines
// say: what they wrote in a place that they made is ours now.
func formerly(baseline []v1alpha1.BaselineField) (names []string) {
	for _, b := range baseline {
		names = append(names, b.HandedOnBy...)
	}
	return names
}

// handedTo are the baselines of leaves of a live object that others have handed on to us, and
// that are not on our record for sure.
func handedTo(app *v1alpha1.Application, live map[string]any) []v1alpha1.BaselineField {
	own, named := holdersOf(live).of(app)
	if !named || own.Of != text(live, "metadata", "uid") {
		return nil
	}
	return own.Handed
}

// withHanded is what is on record of an object with what others have handed on to us: that is
// newer, and lacks what we know of the forms of a field. A place goes with the last of what we
// have made in there, and what those who made it have written in it was not there before either.
func withHanded(recorded, handed []v1alpha1.BaselineField) []v1alpha1.BaselineField {
	if len(handed) == 0 {
		return recorded
	}
	all := slices.Clone(recorded)
	for _, b := range handed {
		if isPlace(b) {
			continue
		}
		i := slices.IndexFunc(all, func(known v1alpha1.BaselineField) bool { return known.Path == b.Path })
		if i < 0 {
			all = append(all, b)
			continue
		}
		for _, held := range all[i].Held {
			if !slices.Contains(b.Held, held) {
				b.Held = append(slices.Clone(b.Held), held)
			}
		}
		all[i] = b
	}
	for _, place := range handed {
		for i, b := range all {
			wasThere := b.Value != nil && !isManagerOf(place.HandedOnBy, b.Manager)
			if isPlace(place) && !wasThere && observer.Under(b.Path, place.Path) && len(cmp.Or(b.From, b.Path)) > len(place.Path) {
				all[i].Value, all[i].Manager, all[i].From, all[i].HandedOnBy = nil, "", place.Path, place.HandedOnBy
			}
		}
	}
	return all
}
