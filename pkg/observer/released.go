package observer

import (
	"cmp"
	"slices"
)

// Released says what becomes of fields that an entry of spec.fields frees: what
// spec.onRelease says, that they stay, or that they get back what they had.
type Released string

// The lists of an entry of spec.fields in which freed fields stand.
const (
	ReleasedFree    Released = "free"
	ReleasedLeave   Released = "leave"
	ReleasedRestore Released = "restore"
)

// freed are the paths of fields that are not held.
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

// releasedPath is a place that a path of an entry frees.
type releasedPath struct {
	path string
	as   Released
}

// release notes which places a path frees.
func (c *fieldCompiler) release() {
	if c.rule.free {
		for _, path := range c.named {
			c.released = append(c.released, releasedPath{path.String(), cmp.Or(c.rule.freed, ReleasedFree)})
		}
	}
}

// Released says in which list a field that the entry does not hold is freed; empty if in
// none. Of several paths the one that decides is the last.
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
