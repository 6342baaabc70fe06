package observer

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Assign returns the schema of every object: the user's schema if one matches, and the default schema otherwise. The
// result is parallel to objects. The error joins one *ValidationError for every schema that matches no object, several
// objects, or an object that already has a schema, and for every field of a schema that contradicts its manifest.
// Assign ignores schemas without an identity, for which ParseAll has returned an error. The result never has a nil
// schema. With errors, the caller may use it only to find further errors.
func Assign(entries []*Schema, objects []manifest.Object) ([]*Schema, error) {
	assigned := make([]*Schema, len(objects))
	from := make([]int, len(objects))
	var faults []error
	for i, entry := range entries {
		if entry.ID.Kind == "" || entry.ID.Name == "" {
			continue
		}
		c := &checker{position: i, name: entry.ID.Kind + " " + entry.ID.Name}
		matches := entry.matches(objects)
		switch {
		case len(matches) == 0:
			_ = c.fault(nil, "%s", entry.mismatch(objects))
		case len(matches) > 1:
			_ = c.fault(nil, "matches %s and %s: give metadata.namespace", objects[matches[0]].ID, objects[matches[1]].ID)
		case assigned[matches[0]] != nil:
			_ = c.fault(nil, "%s already has a schema: observerSchema[%d]", objects[matches[0]].ID, from[matches[0]])
		default:
			k := matches[0]
			own := entry.Copy()
			own.ID = objects[k].ID
			// A cluster-scoped kind has no namespace, although the user wrote one.
			if own.ID.Namespace == "" {
				own.namespace = ""
			}
			assigned[k], from[k] = own, i
			c.children(boundNode{node: own.Root, value: objects[k].Content, byPosition: true})
		}
		faults = manifest.Collect(faults, c.faults...)
	}
	for k, object := range objects {
		if assigned[k] == nil {
			assigned[k] = DefaultEntry(object)
		}
	}
	return assigned, errors.Join(faults...)
}

// mismatch returns the reason why the schema matches none of the objects. The most frequent reason is another
// namespace, which the message then names.
func (e *Schema) mismatch(objects []manifest.Object) string {
	for _, o := range objects {
		if o.ID.Group == e.ID.Group && o.ID.Kind == e.ID.Kind && o.ID.Name == e.ID.Name {
			return fmt.Sprintf("is for the namespace %s, but the manifest of %s is in %s: write `namespace: %[3]s` in its metadata, or omit the namespace",
				e.namespace, e.ID.Kind+" "+e.ID.Name, o.ID.Namespace)
		}
	}
	return "matches no resource of the Application by group, kind and name"
}

// matches returns the indices of the objects that the schema can refer to.
func (e *Schema) matches(objects []manifest.Object) []int {
	var found []int
	for k, o := range objects {
		if o.ID.Group != e.ID.Group || o.ID.Kind != e.ID.Kind || o.ID.Name != e.ID.Name {
			continue
		}
		if e.namespace != "" && o.ID.Namespace != "" && o.ID.Namespace != e.namespace {
			continue // a cluster-scoped object lost the namespace that both were written with
		}
		found = append(found, k)
	}
	return found
}

// checker compares a schema with its manifest.
type checker struct {
	position int
	name     string
	// faults are *ValidationErrors.
	faults []error
}

// fault adds a validation error at a path, and returns it, so that the caller can set Late.
func (c *checker) fault(path *Path, format string, args ...any) *ValidationError {
	f := &ValidationError{Entry: c.position, Name: c.name, Path: path.String(), Message: fmt.Sprintf(format, args...)}
	c.faults = manifest.Collect(c.faults, error(f))
	return f
}

// node reports where the schema contradicts the manifest: a map or list in the schema that has another type
// in the manifest, or a list in the manifest that exceeds its maximum length.
//
//	schema     manifest               result
//	a map      a list or a scalar     an error
//	a list     a map or a scalar      an error
//	any        nothing                valid: the field is learned
//	a leaf     any                    valid
func (c *checker) node(b boundNode) {
	path, node := b.path, b.node
	switch node.Shape {
	case Leaf:
	case Map:
		m, ok := b.value.(map[string]any)
		switch {
		case b.set && !ok:
			_ = c.fault(path, "is a map in the schema, but %s in the manifest", describeShape(b.value))
		case node.IsPlaceholder() && (!b.set || len(m) > 0):
			c.fault(path, "is a map without a leaf, so none of its fields is held: write %q for each field to hold, or remove the map", LeafText).Late = true
		default:
			c.children(b)
		}
	case Sequence:
		l, ok := b.value.([]any)
		if b.set && !ok {
			_ = c.fault(path, "is a list in the schema, but %s in the manifest", describeShape(b.value))
			return
		}
		if longest := node.List.Max; longest != 0 && len(l) > longest {
			c.fault(path, "has %d elements in the manifest, but its %s is %d: raise the limit, or shorten the list", len(l), KeyMaxLength, longest).Late = true
		}
		c.children(b)
	}
}

// children checks the fields of a map, or the elements of a list that are not free. metadata has no node check of its
// own, because a schema always has it.
func (c *checker) children(b boundNode) {
	for child := range b.children() {
		switch {
		case b.path == nil && child.path.Name() == "metadata":
			c.children(child)
		case !child.path.IsElement() || !child.node.IsPlaceholder():
			c.node(child)
		}
	}
}
