package observer

import "holdfast.dev/holdfast/pkg/manifest"

// Named returns the canonical paths of the fields in an object that a path matches. It returns an error if the path
// matches none. A path without wildcards matches several fields if several list elements have the keys in it. The
// commands hold and free use it to write the canonical path into spec.fields: containers[0] becomes
// containers[name=web].
func Named(object manifest.Object, path *FieldPath, in Context) ([]string, error) {
	f := &Fields{Kind: object.ID.Kind, Name: object.ID.Name, OnlyHold: true, Hold: []*FieldPath{path}}
	c := &fieldCompiler{Context: in, schemaSource: schemaSource{fields: f}, object: object, currentPath: currentPath{rule: fieldRule{path: path}}}
	root := &Node{Shape: Map}
	c.apply(&root)
	if len(c.named) == 0 && c.why != nil {
		return nil, c.why
	}
	return texts(c.named), nil
}

// HasWildcard reports whether the path can match several fields.
func (p *FieldPath) HasWildcard() bool { return p.wildcards() > 0 }

// SameAs reports whether two schemas are equal, and both or neither are default schemas. It compares the JSON forms, so
// notes about surplus elements and hooks have no effect.
func (e *Schema) SameAs(other *Schema) bool {
	return e.Default == other.Default && Equal(e.Raw(), other.Raw())
}
