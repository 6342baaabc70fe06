package observer

import (
	"slices"
	"strings"
)

// KeyKeys is a key in a map of a schema, or in the control dictionary of a list. It lists the keys that no other
// client can add to the map, or the keys of elements that no other client can add to the list.
// Source: docs/semantics.md, "Closed maps".
const KeyKeys = "observer_schema_keys"

// ownPrefix is the prefix of the tracking metadata. No map is closed to it.
const ownPrefix = "holdfast.dev/"

// Limits of the lists of a closed map.
const (
	maxKeyPatterns    = 100
	maxKeyPatternText = 320 // a prefix, a separator and a name
)

// Keys are the keys of a closed map, or of the elements of a closed list: see elementKeys.text. Each can have any
// number of wildcards (*). The zero value holds nothing. For a list, Hold: ["*"] removes all elements of other clients.
type Keys struct {
	// Hold lists the keys that are removed unless the manifest has them. Free lists the keys that are kept
	// even if Hold matches them.
	Hold, Free []string
	// Kept lists keys that appeared in the response to the controller's own write. They are also kept.
	Kept []string
}

// Holds reports whether a key is held: to the manifest's value, or to be absent. Free prevails over Hold, and the
// tracking metadata is never held by a pattern. A nil Keys holds nothing.
func (k *Keys) Holds(name string) bool {
	is := func(pattern string) bool { return MatchesPattern(pattern, name) }
	return k != nil && !strings.HasPrefix(name, ownPrefix) && slices.ContainsFunc(k.Hold, is) && !slices.ContainsFunc(k.Free, is)
}

// Removes reports whether a key is removed if the manifest does not have it.
func (k *Keys) Removes(name string) bool { return k.Holds(name) && !slices.Contains(k.Kept, name) }

// raw returns the keys in the form of a schema. Empty lists are omitted, because the parser rejects them.
func (k *Keys) raw() map[string]any {
	m := map[string]any{}
	for name, list := range map[string][]string{"hold": k.Hold, "free": k.Free, "kept": k.Kept} {
		if len(list) > 0 {
			m[name] = jsonList(list)
		}
	}
	return m
}

// copy returns a copy whose Kept can be changed. It shares Hold and Free, which are never changed in place. It
// accepts nil.
func (k *Keys) copy() *Keys {
	if k == nil {
		return nil
	}
	return &Keys{Hold: k.Hold, Free: k.Free, Kept: slices.Clone(k.Kept)}
}
