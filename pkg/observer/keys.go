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

// keyLists reads the keys that close a map or a list: hold of an item of spec.fields, and all lists of a recorded
// schema. It returns nil after an error.
//
//	{hold: ["*"]}                                 all keys are the manifest's
//	{hold: ["*"], free: [app.example/x]}          one key is free, in a recorded schema
//	{hold: ["*"], kept: [team]}                   the API server added one, in a recorded schema
func (p *parser) keyLists(path *Path, raw any) *Keys {
	m, ok := raw.(map[string]any)
	if _, given := m["hold"]; !ok || !given {
		p.fault(path, "must list in hold the keys that other clients may not add; * matches any key")
		return nil
	}
	k, before := &Keys{}, len(p.faults)
	for _, name := range sortedKeys(m) {
		switch at := path.Field(name); {
		case name == "hold" && !p.recorded:
			k.Hold = p.keyPatterns(at, m[name])
		case name == "hold":
			k.Hold = p.recordedKeys(at, m[name])
		case name == "free":
			k.Free = p.recordedKeys(at, m[name])
		case name == "kept" && p.recorded:
			k.Kept = p.recordedKeys(at, m[name])
		default:
			p.fault(at, "is not a list of keys: write hold")
		}
	}
	if len(p.faults) > before {
		return nil
	}
	return k
}

// keyPatterns reads a list of keys or patterns, within the limits of a closed map. It returns nil after an error.
func (p *parser) keyPatterns(path *Path, raw any) []string {
	l, ok := raw.([]any)
	if !ok || len(l) == 0 || len(l) > maxKeyPatterns {
		p.fault(path, "must be a list of 1 to %d keys, in which * matches any text", maxKeyPatterns)
		return nil
	}
	var patterns []string
	for _, v := range l {
		text, ok := v.(string)
		if !ok || text == "" || len(text) > maxKeyPatternText {
			p.fault(path, "must have keys of 1 to %d characters, not %s", maxKeyPatternText, p.describe(v))
			return nil
		}
		patterns = append(patterns, text)
	}
	return patterns
}

// recordedKeys reads a list of keys of a recorded schema. It has no limit: the controller cannot choose the number of
// keys that the API server adds, and without them the recorded schema would be lost.
func (p *parser) recordedKeys(path *Path, raw any) (keys []string) {
	l, ok := raw.([]any)
	for _, v := range l {
		text, isText := v.(string)
		keys, ok = append(keys, text), ok && isText
	}
	if !ok || len(keys) == 0 {
		p.fault(path, "must be a list of keys")
		return nil
	}
	return keys
}

// noKeysFor returns the reason why a map cannot be closed, or "" if it can.
func noKeysFor(path *Path) string {
	chain := path.Chain()
	switch {
	case len(chain) == 0 || chain[0].Name() == "metadata" && len(chain) == 1:
		return "closes only maps below the object, not the entire object or its metadata"
	case isStatus(chain[0].Name()):
		return "cannot be below status, which is report-only"
	}
	return ""
}
