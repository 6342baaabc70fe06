package observer

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
)

// KeyKeys stands in a map of an entry, and says which keys nobody may add to it.
// Source: docs/semantics.md, "Closed maps".
const KeyKeys = "observer_schema_keys"

// ownPrefix is that of our own marks: no map is closed to them.
const ownPrefix = "holdfast.dev/"

// What the lists of a closed map may have.
const (
	maxKeyPatterns    = 100
	maxKeyPatternText = 320 // a prefix and a name, with what separates them
)

// Keys are the keys of a closed map, as texts with any number of * in them.
type Keys struct {
	// Hold are the keys that are removed unless the manifest has them; Free those that are
	// left all the same.
	Hold, Free []string
	// Kept are keys that the answer to our own write has added. They are left, too.
	Kept []string
}

// Holds reports whether a key is held: to the manifest's value, or to being absent.
func (k *Keys) Holds(name string) bool {
	is := func(pattern string) bool { return matchesKey(pattern, name) }
	return k != nil && !strings.HasPrefix(name, ownPrefix) && slices.ContainsFunc(k.Hold, is) && !slices.ContainsFunc(k.Free, is)
}

// Removes reports whether a key goes that the manifest does not have.
func (k *Keys) Removes(name string) bool { return k.Holds(name) && !slices.Contains(k.Kept, name) }

// matchesKey reports whether a key is a pattern's, of which each * is any text.
func matchesKey(pattern, name string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	if !more {
		return name == ""
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

func (k *Keys) raw() map[string]any {
	m := map[string]any{}
	for name, list := range map[string][]string{"hold": k.Hold, "free": k.Free, "kept": k.Kept} {
		if len(list) == 0 {
			continue
		}
		texts := make([]any, len(list))
		for i, text := range list {
			texts[i] = text
		}
		m[name] = texts
	}
	return m
}

func (k *Keys) copy() *Keys {
	if k == nil {
		return nil
	}
	return &Keys{Hold: k.Hold, Free: k.Free, Kept: slices.Clone(k.Kept)}
}

// keys reads what closes a map.
func (p *parser) keys(path *Path, raw any) *Keys {
	k := p.keyLists(path, raw)
	if text := noKeysFor(path.Parent()); text != "" {
		p.fault(path, "%s", text)
		return nil
	}
	return k
}

// noKeysFor says why a map cannot be closed; empty if it can.
func noKeysFor(path *Path) string {
	chain := path.Chain()
	switch {
	case len(chain) == 0 || chain[0].Name() == "metadata" && len(chain) == 1:
		return "closes a map of the object, and not the object or its metadata as a whole"
	case watched(chain[0].Name()):
		return "cannot be below status, which is only watched"
	}
	return ""
}

func (p *parser) keyLists(path *Path, raw any) *Keys {
	m, ok := raw.(map[string]any)
	if !ok || len(m) == 0 {
		p.fault(path, "must be a map with the lists hold and free, not %s", describe(raw))
		return nil
	}
	k, before := &Keys{}, len(p.faults)
	for _, name := range sortedKeys(m) {
		switch name {
		case "hold":
			k.Hold = p.keyPatterns(path.Field(name), m[name])
		case "free":
			k.Free = p.keyPatterns(path.Field(name), m[name])
		case "kept":
			k.Kept = p.keyPatterns(path.Field(name), m[name])
		default:
			p.fault(path.Field(name), "is none of hold, free and kept")
		}
	}
	if _, given := m["hold"]; !given {
		p.fault(path, "must say in hold which keys nobody may add; * is any")
	}
	if len(p.faults) > before {
		return nil
	}
	return k
}

func (p *parser) keyPatterns(path *Path, raw any) []string {
	l, ok := raw.([]any)
	if !ok || len(l) == 0 || len(l) > maxKeyPatterns {
		p.fault(path, "must be a list of 1 to %d keys, in which * is any text", maxKeyPatterns)
		return nil
	}
	var patterns []string
	for _, v := range l {
		text, ok := v.(string)
		if !ok || text == "" || len(text) > maxKeyPatternText {
			p.fault(path, "must have keys of 1 to %d letters, not %s", maxKeyPatternText, p.describe(v))
			return nil
		}
		patterns = append(patterns, text)
	}
	return patterns
}

// closeOver observes the keys of the manifest that its closed maps hold.
func (n *Node) closeOver(value any) {
	switch n.Shape {
	case Leaf:
	case Map:
		m, _ := value.(map[string]any)
		for _, name := range sortedKeys(m) {
			if n.Keys.Holds(name) && n.Field(name) == nil {
				n.set(name, defaultNode(m[name]))
			}
		}
		for _, f := range n.Fields {
			f.Node.closeOver(m[f.Name])
		}
	case Sequence:
		l, _ := value.([]any)
		for i, element := range n.List.Elements {
			element.closeOver(at(l, i))
		}
	}
}

// KeepServerKeys leaves what the answer to our own write has added to closed maps. added
// reports whether it is the answer that has added what is at a path. It reports whether
// anything was.
func (e *Schema) KeepServerKeys(t *kinds.Node, desired, answer map[string]any, added func(*Path) bool) bool {
	return keepAnswer(e.Root, t, nil, desired, answer, added)
}

func keepAnswer(n *Node, t *kinds.Node, path *Path, desired, answer any, added func(*Path) bool) bool {
	kept := false
	switch n.Shape {
	case Leaf:
	case Map:
		d, _ := desired.(map[string]any)
		a, _ := answer.(map[string]any)
		for _, f := range n.Fields {
			kept = keepAnswer(f.Node, t.Field(f.Name), path.Field(f.Name), d[f.Name], a[f.Name], added) || kept
		}
		for _, name := range sortedKeys(a) {
			if n.Keys.Removes(name) && n.Field(name) == nil && added(path.Field(name)) {
				n.Keys.Kept, kept = append(n.Keys.Kept, name), true
			}
		}
	case Sequence:
		d, _ := desired.([]any)
		a, _ := answer.([]any)
		pairing := n.List.Pair(t, d, a, len(d))
		for i, k := range pairing.Live {
			if k >= 0 {
				kept = keepAnswer(n.List.Elements[i], t.Elem(), path.Element(pairing.Label(i), k), at(d, i), a[k], added) || kept
			}
		}
	}
	return kept
}

// KeepKeys takes over what an entry on record has kept. desired and previous are the states
// that the two entries belong to.
func (e *Schema) KeepKeys(t *kinds.Node, desired map[string]any, before *Schema, previous map[string]any) {
	if before != nil {
		keepKeys(e.Root, before.Root, t, desired, previous)
	}
}

func keepKeys(n, before *Node, t *kinds.Node, desired, previous any) {
	switch {
	case n.Shape != before.Shape:
	case n.Shape == Map:
		d, _ := desired.(map[string]any)
		p, _ := previous.(map[string]any)
		if n.Keys != nil && before.Keys != nil {
			for _, name := range before.Keys.Kept {
				if !slices.Contains(n.Keys.Kept, name) {
					n.Keys.Kept = append(n.Keys.Kept, name)
				}
			}
		}
		for _, f := range n.Fields {
			if b := before.Field(f.Name); b != nil {
				keepKeys(f.Node, b, t.Field(f.Name), d[f.Name], p[f.Name])
			}
		}
	case n.Shape == Sequence:
		d, _ := desired.([]any)
		p, _ := previous.([]any)
		for i, k := range n.List.Identities(t, d, p) {
			if k >= 0 && i < len(n.List.Elements) && k < len(before.List.Elements) {
				keepKeys(n.List.Elements[i], before.List.Elements[k], t.Elem(), at(d, i), at(p, k))
			}
		}
	}
}

// Closed is an entry in which every map with free keys is closed, but labels and annotations.
func (e *Schema) Closed(t *kinds.Node) *Schema {
	closed := e.Copy()
	closed.Root.closeFree(t)
	return closed
}

// ClosedAt is an entry in which the map at a path is closed, in all elements of the lists on
// the way; false if there is none.
func (e *Schema) ClosedAt(path *Path) (*Schema, bool) {
	closed := e.Copy()
	found := closed.Root.closeAt(nil, withoutElements(path))
	return closed, found
}

// closeAt closes the maps at a path, in all elements of the lists on the way.
func (n *Node) closeAt(path *Path, at string) bool {
	found := false
	switch n.Shape {
	case Leaf:
	case Map:
		if path != nil && withoutElements(path) == at {
			n.Keys, found = &Keys{Hold: []string{"*"}}, true
		}
		for _, f := range n.Fields {
			found = f.Node.closeAt(path.Field(f.Name), at) || found
		}
	case Sequence:
		for i, element := range n.List.Elements {
			found = element.closeAt(path.Element(positionLabel(i), -1), at) || found
		}
	}
	return found
}

// withoutElements is a path as it leads through all elements of its lists.
func withoutElements(path *Path) string {
	var through *Path
	for _, step := range path.Chain() {
		if !step.IsElement() {
			through = through.Field(step.Name())
		}
	}
	return through.String()
}

// closeFree closes the maps that may have any keys.
func (n *Node) closeFree(t *kinds.Node) {
	switch n.Shape {
	case Leaf:
	case Map:
		for _, f := range n.Fields {
			if f.Name == "metadata" {
				continue // of a Pod template, too
			}
			if f.Node.Shape == Map && t.HasFreeKeys(f.Name) {
				f.Node.Keys = &Keys{Hold: []string{"*"}}
			}
			f.Node.closeFree(t.Field(f.Name))
		}
	case Sequence:
		for _, element := range n.List.Elements {
			element.closeFree(t.Elem())
		}
	}
}
