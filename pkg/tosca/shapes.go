package tosca

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// known reports keys of a map that the grammar does not have. Keys that begin with x- or tosca_ are extensions. p can
// be absent or no map: then it has no keys. The caller reports a wrong type with wantMap.
func (t *session) known(p fileNode, keys []string) {
	for _, entry := range p.entries() {
		name := entry.name()
		if slices.Contains(keys, name) || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "tosca_") {
			continue
		}
		t.faults.add(entry, UnknownKeyname, "unknown key%s", t.didYouMean(name, keys))
	}
}

// wantMap reports whether p is a map. It returns false without an error for an absent value and null, which count as
// empty maps.
func (c *faults) wantMap(p fileNode) bool {
	return c.want(p, p.isMap(), "a map")
}

// wantList reports whether p is a list, with the same exceptions.
func (c *faults) wantList(p fileNode) bool {
	return c.want(p, p.isList(), "a list")
}

// wantMaps returns the entries of the maps in a list. A map is accepted as a list with one element, without its dash.
// Other elements are errors with the code. example is a valid element.
func (c *faults) wantMaps(p fileNode, code Code, example string) (entries []fileNode) {
	elements := []fileNode{p}
	if !p.isMap() {
		c.wantList(p)
		elements = p.elements()
	}
	for _, element := range elements {
		if !element.isMap() {
			c.add(element, code, "must be a map like %s, not %s", example, element.describe())
		}
		entries = append(entries, element.entries()...)
	}
	return entries
}

// want returns is, which states whether p has a shape. It reports another shape, but not an absent value and null.
func (c *faults) want(p fileNode, is bool, shape string) bool {
	if !is && p.exists() && !p.isNull() {
		c.add(p, InvalidShape, "must be %s, not %s", shape, p.describe())
	}
	return is
}

// wantText returns a scalar as a string. Numbers and dates keep their notation, because versions look like them. p
// must exist.
func (c *faults) wantText(p fileNode) (string, bool) {
	if !p.isScalar() || p.isNull() {
		c.add(p, InvalidShape, "must be text, not %s", p.describe())
		return "", false
	}
	return p.text(), true
}

// wantBool returns a boolean, also one of YAML 1.1. It returns otherwise for an absent value, and after an error. The
// words yes, no, on and off are accepted, because TOSCA 1.x is YAML 1.1. A boolean in quotes is an error.
func (c *faults) wantBool(p fileNode, otherwise bool) bool {
	if !p.exists() {
		return otherwise
	}
	if p.isScalar() {
		value, err := manifest.Scalar(p.node, true)
		if boolean, ok := value.(bool); ok && err == nil {
			return boolean
		}
	}
	c.add(p, InvalidShape, "must be true or false, not %s", p.describe())
	return otherwise
}
