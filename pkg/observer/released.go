package observer

import (
	"cmp"
	"slices"
)

// freed returns the paths of the fields that are not held, from all three lists.
func (f *Fields) freed() (rules []fieldRule) {
	for _, list := range [...]struct {
		as    Released
		paths []*FieldPath
	}{{ReleasedFree, f.Free}, {ReleasedLeave, f.Leave}, {ReleasedRestore, f.Restore}} {
		for i, path := range list.paths {
			if path != nil {
				rules = append(rules, fieldRule{path: path, free: true, item: i, freed: list.as})
			}
		}
	}
	return rules
}

// release records the fields that a path releases.
func (c *fieldCompiler) release() {
	if c.rule.free {
		for _, path := range c.named {
			c.released = append(c.released, releasedPath{path.String(), cmp.Or(c.rule.freed, ReleasedFree)})
		}
	}
}

// Released returns the list that releases a field, or "" if none does. If several paths match the field, the last one
// decides. It accepts a nil schema.
func (e *Schema) Released(path string) Released {
	if e == nil {
		return ""
	}
	for _, r := range slices.Backward(e.released) {
		if IsUnder(path, r.path) {
			return r.as
		}
	}
	return ""
}
