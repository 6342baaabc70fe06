package plan

import (
	"fmt"
	"maps"
	"slices"

	quantity "k8s.io/apimachinery/pkg/api/resource"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// NotHeld is a free field of which the manifest and the live object have different
// values: the manifest's was written when the object was created, and is not any more.
// Values of Secrets are masked.
type NotHeld struct {
	Path string
	// Leaf is the name of the field, to write behind it that it is observed.
	Leaf           string
	Manifest, Live delta.Value
}

// NotHeld are the free fields of a resource in which it differs from its manifest.
func (p *Plan) NotHeld(id manifest.ID) []NotHeld {
	for _, res := range p.resources {
		if res.object.ID != id || res.live == nil || res.entry.Default {
			continue
		}
		n := &notHeld{id: id}
		n.walk(placeNotHeld{node: res.entry.Root, kind: res.kind, value: res.object.Content, live: delta.Some(res.live), root: true})
		return slices.DeleteFunc(n.found, func(free NotHeld) bool { // an element that is added for the minimum
			return slices.ContainsFunc(res.change.Fields, func(d delta.Difference) bool { return d.Path == free.Path })
		})
	}
	return nil
}

type notHeld struct {
	id    manifest.ID
	found []NotHeld
}

// placeNotHeld is a place of the walk; node is nil where nothing is observed.
type placeNotHeld struct {
	path  *observer.Path
	leaf  string
	node  *observer.Node
	kind  *kinds.Node
	value any
	live  delta.Value
	root  bool
}

func (n *notHeld) walk(at placeNotHeld) {
	if at.node != nil && at.node.Shape == observer.Leaf {
		return
	}
	switch v := at.value.(type) {
	case map[string]any:
		if _, isMap := at.live.Any.(map[string]any); isMap || at.node != nil && len(at.node.Fields) > 0 {
			n.fields(at, v)
			return
		}
	case []any:
		if l, isList := at.live.Any.([]any); isList || at.node != nil && at.node.List != nil {
			n.elements(at, v, l)
			return
		}
	}
	if at.live.Set && isSame(at.value, at.live.Any) || !at.live.Set && observer.Empty(at.value) {
		return
	}
	found := NotHeld{Path: at.path.String(), Leaf: at.leaf, Manifest: delta.Some(at.value), Live: at.live}
	if secretPath(n.id, found.Path) {
		found.Manifest = delta.Some(manifest.Masked)
		if found.Live.Set {
			found.Live = delta.Some(manifest.Masked)
		}
	}
	n.found = append(n.found, found)
}

func (n *notHeld) fields(at placeNotHeld, m map[string]any) {
	live, _ := at.live.Any.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if at.root && (name == "apiVersion" || name == "kind") {
			continue
		}
		below := placeNotHeld{path: at.path.Field(name), leaf: name, kind: at.kind.Field(name), value: m[name], live: member(live, name)}
		if at.node != nil {
			below.node = at.node.Field(name)
		}
		n.walk(below)
	}
}

func (n *notHeld) elements(at placeNotHeld, wanted, live []any) {
	list := &observer.List{}
	if at.node != nil && at.node.List != nil {
		list = at.node.List
	}
	for i, nth := range list.Identities(at.kind, wanted, live) {
		below := placeNotHeld{
			path: at.path.Element(list.Label(at.kind, wanted[i], i), i), leaf: at.leaf, kind: at.kind.Elem(), value: wanted[i], live: item(live, nth),
		}
		if i < len(list.Elements) {
			below.node = list.Elements[i]
		}
		if below.node != nil && !below.node.IsPlace() && !below.live.Set {
			continue // it is added whole
		}
		n.walk(below)
	}
}

// isSame reports whether two values are equal, or quantities that are.
func isSame(a, b any) bool {
	if observer.Equal(a, b) {
		return true
	}
	p, errP := quantity.ParseQuantity(fmt.Sprint(a))
	q, errQ := quantity.ParseQuantity(fmt.Sprint(b))
	return errP == nil && errQ == nil && p.Cmp(q) == 0
}
