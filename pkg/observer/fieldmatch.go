package observer

import (
	"cmp"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// withChildren returns the fields with some children replaced. A nil child removes the field.
func withChildren(fields []Field, children map[string]*Node) []Field {
	all := make([]Field, 0, len(fields)+len(children))
	for _, f := range fields {
		if _, other := children[f.Name]; !other {
			all = append(all, f)
		}
	}
	for name, child := range children {
		if child != nil {
			all = append(all, Field{name, child})
		}
	}
	slices.SortFunc(all, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// names returns the fields of a map that a path element matches.
func (c *fieldCompiler) names(p cursor, step pathStep) ([]string, error) {
	m, _ := p.value.(map[string]any)
	if !step.isPattern() {
		return c.name(p, m, step.key())
	}
	if c.charge(len(m)) {
		return nil, nil
	}
	var names []string
	for _, name := range sortedKeys(m) {
		if step.matches(name) && !identifies(p.path, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// name returns a field of a map, if the manifest, the live object or the kind has it. The result has one name, or the
// error explains why the path is invalid here.
func (c *fieldCompiler) name(p cursor, m map[string]any, name string) ([]string, error) {
	if p.path == nil && name == "stringData" && manifest.IsSecret(c.object.ID.GroupKind()) {
		name = "data" // where the API server stores it
	}
	path := p.path.Field(name)
	_, set := m[name]
	_, live := ValueAt(c.Live, path)
	switch {
	case isMetadata(p.path) && serverOwned(name):
		return nil, wrongPath{fmt.Errorf("%s belongs to the API server and cannot be observed", path)}
	case identifies(p.path, name) && name != "namespace":
		return nil, wrongPath{fmt.Errorf("%s identifies the resource: it is neither held nor free", path)}
	// A name is valid if any source knows it, or if the type is unknown.
	case set, live, !p.t.Forbids(name), p.published != nil && !p.published.Forbids(name):
		return []string{name}, nil
	}
	return nil, c.noField(p, name)
}

// identifies reports whether wildcards skip a field: it identifies the object, or the API server owns it.
func identifies(parent *Path, name string) bool {
	if parent == nil {
		return name == "apiVersion" || name == "kind"
	}
	return isMetadata(parent) && (name == "name" || name == "namespace" || serverOwned(name))
}

// isMetadata reports whether a path is the metadata of the object, and not of a Pod template.
func isMetadata(path *Path) bool {
	return path != nil && path.Parent() == nil && path.Name() == "metadata"
}
