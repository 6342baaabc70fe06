package intent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Publisher is an optional interface of Kinds: only a connected cluster has published schemas. The controller requests
// the schema of a kind when an Application uses it.
type Publisher interface {
	// Published returns the schema that the API server publishes for a kind, or nil if it was not requested.
	Published(gvk schema.GroupVersionKind) *kinds.Node
}

// Published returns the schema that defines the fields of a kind. The schema of the API server has
// precedence, because the API server may be newer or older than the built-in schema.
func Published(known Kinds, gvk schema.GroupVersionKind) *kinds.Node {
	if publisher, ok := known.(Publisher); ok {
		if node := publisher.Published(gvk); node != nil {
			return node
		}
	}
	return known.Type(gvk)
}

// DefaultFor returns the value that the API server sets if a field of an object of the kind is absent. It returns false
// if the schema of the kind does not define it.
func DefaultFor(known Kinds, gvk schema.GroupVersionKind, path string) (any, bool) {
	parsed, err := observer.ParseFieldPath(path)
	if err != nil {
		return nil, false
	}
	if value, defined := parsed.DefaultFor(Published(known, gvk)); defined {
		return value, true
	}
	return parsed.DefaultFor(kinds.Builtin(gvk)) // the published schema has few defaults of built-in kinds
}

// UnknownFields returns an error for each unknown field in manifests, in spec.select, and in the schemas that a user
// wrote: a *manifest.ValidationError or an *observer.ValidationError. It skips fields that the live object has, because
// the API server knows them and may be newer than the schema of the kind. An API server drops unknown fields without an
// error, so a misspelt field would never be in sync. It is a warning, because the published schema of a kind can be
// incomplete.
func UnknownFields(objects []manifest.Object, entries []*observer.Schema, known Kinds, live map[manifest.ID]map[string]any) []error {
	var faults []error
	looked := map[int]bool{} // items of spec.select, which are the same for each object
	for i, o := range objects {
		if IsSelected(o) {
			if looked[o.Position] {
				continue
			}
			looked[o.Position] = true
		}
		m, kind := &unknownFieldFinder{object: o, entry: entries[i]}, Published(known, o.GVK())
		if kind == nil {
			continue
		}
		// there contains the live values of the field: for a field of a list element, those of all live elements,
		// because elements cannot be paired here.
		var there []any
		if object := live[o.ID]; object != nil {
			there = []any{object}
		}
		if hasUnknown(o.Content, kind) {
			m.manifest(nil, o.Content, kind, there)
		}
		if !m.entry.Default && !m.entry.FromFields() {
			m.schema(nil, m.entry.Root, kind, there)
		}
		faults = manifest.Collect(faults, m.faults...)
	}
	return faults
}

// UnknownFieldsIn returns the unknown fields of an input, or nil if the input is invalid. It is for commands that read
// files, and do not render the Application.
func UnknownFieldsIn(in Input) []error {
	objects, _, err := objectsOf(in)
	e := readEntries(in)
	if err != nil || len(e.unread) > 0 {
		return nil
	}
	e.assign(in, objects)
	return UnknownFields(objects, e.assigned, in.Kinds, in.Live)
}

// hasUnknown reports whether a manifest has any unknown field. Most manifests have none, so that no paths
// are built for them.
func hasUnknown(value any, kind *kinds.Node) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, child := range v {
			if kind.Forbids(name) || hasUnknown(child, kind.Field(name)) {
				return true
			}
		}
	case []any:
		for _, element := range v {
			if hasUnknown(element, kind.Elem()) {
				return true
			}
		}
	}
	return false
}

// unknownFieldFinder finds the unknown fields of one object and of its schema.
type unknownFieldFinder struct {
	object manifest.Object
	entry  *observer.Schema
	faults []error
}

// inManifest returns a validation error at a path of a manifest, or of the hold field of a spec.select item.
func (m *unknownFieldFinder) inManifest(at manifest.Path, message string) error {
	if IsSelected(m.object) {
		return selectFault(m.object.Position, message, append([]any{"hold"}, at...)...)
	}
	return &manifest.ValidationError{Position: m.object.Position, ID: m.object.ID, Path: at, Message: message}
}

// manifest finds the unknown fields of a manifest. there contains the live values that may belong to the same field. A
// kind with x-kubernetes-preserve-unknown-fields forbids nothing at that place: see kinds.Node.Forbids.
func (m *unknownFieldFinder) manifest(path manifest.Path, value any, kind *kinds.Node, there []any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, at := children(there, name), append(slices.Clone(path), name)
			if kind.Forbids(name) && len(below) == 0 {
				m.faults = manifest.Collect(m.faults, m.inManifest(at, m.message(name, kind)))
				continue
			}
			m.manifest(at, v[name], kind.Field(name), below)
		}
	case []any:
		for i, element := range v {
			m.manifest(append(slices.Clone(path), i), element, kind.Elem(), elements(there))
		}
	}
}

// schema finds the unknown fields of the user's schema.
func (m *unknownFieldFinder) schema(path *observer.Path, node *observer.Node, kind *kinds.Node, there []any) {
	switch node.Shape {
	case observer.Leaf:
	case observer.Map:
		for _, f := range node.Fields {
			below, at := children(there, f.Name), path.Field(f.Name)
			if kind.Forbids(f.Name) && len(below) == 0 {
				m.faults = manifest.Collect(m.faults, error(&observer.ValidationError{
					Entry: m.entry.Position, Name: m.object.ID.Kind + " " + m.object.ID.Name, Path: at.String(), Message: m.message(f.Name, kind),
				}))
				continue
			}
			m.schema(at, f.Node, kind.Field(f.Name), below)
		}
	case observer.Sequence:
		for i, element := range node.List.Elements {
			m.schema(path.Element(fmt.Sprintf("[%d]", i), -1), element, kind.Elem(), elements(there))
		}
	}
}

// message returns the text of an error for an unknown field, with a suggestion. kind is the type of the map that
// contains the field.
func (m *unknownFieldFinder) message(name string, kind *kinds.Node) string {
	text := m.object.APIVersion + " " + m.object.ID.Kind + " has no such field"
	if strings.ContainsAny(name, ".[") {
		return text + ": a path is not a key; write a map for each of its elements"
	}
	var names []string
	for known := range kind.Fields() {
		names = append(names, known)
	}
	slices.Sort(names)
	return text + suggest.DidYouMean(name, names)
}

// children returns the values of a field in all the maps that have it.
func children(there []any, name string) (below []any) {
	for _, v := range there {
		if m, ok := v.(map[string]any); ok {
			if child, has := m[name]; has {
				below = append(below, child)
			}
		}
	}
	return below
}

// elements returns the elements of all the lists, in one list. Values that are not lists have none.
func elements(there []any) (below []any) {
	for _, v := range there {
		l, _ := v.([]any)
		below = append(below, l...)
	}
	return below
}
