package observer

import (
	"errors"
	"fmt"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Assign gives every object its entry: the user's where one matches, the
// default one otherwise. The result is parallel to objects. The error joins
// one *Fault for every entry that matches no object, more than one, or an
// object that has an entry already, or whose shape contradicts its manifest.
func Assign(entries []*Entry, objects []manifest.Object) ([]*Entry, error) {
	assigned := make([]*Entry, len(objects))
	from := make([]int, len(objects))
	var faults []error
	for i, entry := range entries {
		fault := func(path *Path, format string, args ...any) {
			faults = append(faults, &Fault{
				Entry: i, Name: entry.ID.Kind + " " + entry.ID.Name,
				Path: path.String(), Message: fmt.Sprintf(format, args...),
			})
		}
		matches := entry.matches(objects)
		switch {
		case len(matches) == 0:
			fault(nil, "matches no resource of the Application by group, kind and name")
		case len(matches) > 1:
			fault(nil, "matches %s and %s: give metadata.namespace", objects[matches[0]].ID, objects[matches[1]].ID)
		case assigned[matches[0]] != nil:
			fault(nil, "%s has an entry already: observerSchema[%d]", objects[matches[0]].ID, from[matches[0]])
		default:
			k := matches[0]
			own := entry.Copy()
			own.ID = objects[k].ID
			if own.ID.Namespace == "" {
				own.namespace = ""
			}
			assigned[k], from[k] = own, i
			checkShape(nil, own.Root, objects[k].Content, fault)
		}
	}
	for k, object := range objects {
		if assigned[k] == nil {
			assigned[k] = DefaultEntry(object)
		}
	}
	return assigned, errors.Join(faults...)
}

// matches returns the indices of the objects that the entry may speak of.
func (e *Entry) matches(objects []manifest.Object) []int {
	var found []int
	for k, o := range objects {
		if o.ID.Group != e.ID.Group || o.ID.Kind != e.ID.Kind || o.ID.Name != e.ID.Name {
			continue
		}
		if e.namespace != "" && o.ID.Namespace != "" && o.ID.Namespace != e.namespace {
			continue // a cluster-scoped object has lost the namespace that both were written with
		}
		found = append(found, k)
	}
	return found
}

// checkShape refuses a schema that has a map or a list where its manifest has
// something else.
func checkShape(path *Path, node *Node, value any, fault func(*Path, string, ...any)) {
	switch node.Shape {
	case Map:
		m, ok := value.(map[string]any)
		if !ok {
			fault(path, "is a map in the schema and %s in the manifest", describeShape(value))
			return
		}
		for _, f := range node.Fields {
			if v, ok := m[f.Name]; ok {
				checkShape(path.Field(f.Name), f.Node, v, fault)
			}
		}
	case Sequence:
		l, ok := value.([]any)
		if !ok {
			fault(path, "is a list in the schema and %s in the manifest", describeShape(value))
			return
		}
		for i, element := range node.List.Elements {
			if i < len(l) && !element.IsPlace() {
				checkShape(path.Element(positionLabel(i), -1), element, l[i], fault)
			}
		}
	}
}

func describeShape(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a map"
	case []any:
		return "a list"
	case nil:
		return "null"
	default:
		return "a single value"
	}
}
