package tosca

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// known refuses keys of a map that the grammar does not have.
func (t *session) known(p fileNode, keys []string) {
	for _, entry := range p.entries() {
		name := entry.name()
		if slices.Contains(keys, name) || strings.HasPrefix(name, "x-") || strings.HasPrefix(name, "tosca_") {
			continue
		}
		t.faults.add(entry, UnknownKeyname, "unknown key%s", t.didYouMean(name, keys))
	}
}

// wantMap reports whether p is a map. An absent one and null are empty maps.
func (t *session) wantMap(p fileNode) bool {
	if !p.exists() || p.isNull() {
		return false
	}
	if !p.isMap() {
		t.faults.add(p, InvalidShape, "must be a map, not %s", p.describe())
	}
	return p.isMap()
}

func (t *session) wantList(p fileNode) bool {
	if !p.exists() || p.isNull() {
		return false
	}
	if !p.isList() {
		t.faults.add(p, InvalidShape, "must be a list, not %s", p.describe())
	}
	return p.isList()
}

// wantText returns the text of a scalar. Numbers and dates are taken as they are
// written: versions look like them.
func (t *session) wantText(p fileNode) (string, bool) {
	if !p.isScalar() || p.isNull() {
		t.faults.add(p, InvalidShape, "must be text, not %s", p.describe())
		return "", false
	}
	return p.text(), true
}

// wantBool reads a boolean, also one of YAML 1.1.
func (t *session) wantBool(p fileNode, otherwise bool) bool {
	if !p.exists() {
		return otherwise
	}
	if p.isScalar() {
		if value, err := manifest.Scalar(p.node, true); err == nil {
			if boolean, ok := value.(bool); ok {
				return boolean
			}
		}
	}
	t.faults.add(p, InvalidShape, "must be true or false, not %s", p.describe())
	return otherwise
}
