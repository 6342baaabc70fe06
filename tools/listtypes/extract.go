package main

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// extractor walks a typed schema and keeps the fields that lead to a list or to an atomic map.
type extractor struct {
	schema *schema.Schema
	// lists records for each named type whether a list can be reached from it.
	lists map[string]bool
}

// extract returns the table of every kind in the scheme that has metadata.
func extract(typed *schema.Schema, scheme *runtime.Scheme) (*table, error) {
	e := &extractor{schema: typed, lists: map[string]bool{}}
	e.findLists()

	result := &table{Kinds: map[string]string{}, Types: map[string]structure{}}
	for kind := range scheme.AllKnownTypes() {
		name, err := scheme.ToOpenAPIDefinitionName(kind)
		if err != nil || kind.Version == runtime.APIVersionInternal {
			continue // a helper type, for example ListOptions in every group
		}
		definition, ok := typed.FindNamedType(name)
		if !ok || !hasMetadata(definition) {
			continue
		}
		result.Kinds[kindKey(kind)] = shortName(name)
		if err := e.add(result, name); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func kindKey(kind gvk.GroupVersionKind) string {
	return kind.GroupVersion().String() + " " + kind.Kind
}

func hasMetadata(definition schema.TypeDef) bool {
	if definition.Map == nil {
		return false
	}
	field, ok := definition.Map.FindField("metadata")
	return ok && field.Type.NamedType != nil && *field.Type.NamedType == objectMeta
}

// findLists iterates until there are no additions, because types can form cycles.
func (e *extractor) findLists() {
	for changed := true; changed; {
		changed = false
		for _, definition := range e.schema.Types {
			if !e.lists[definition.Name] && e.leadsToList(definition.Atom) {
				e.lists[definition.Name] = true
				changed = true
			}
		}
	}
}

func (e *extractor) leadsToList(atom schema.Atom) bool {
	if atom.List != nil || isText(atom) {
		return true
	}
	if atom.Map == nil {
		return false
	}
	if len(atom.Map.Fields) > 0 {
		return true // a structure with named fields
	}
	return e.refLeadsToList(atom.Map.ElementType)
}

// isText reports whether a type is an atomic map of strings, such as a node selector.
func isText(atom schema.Atom) bool {
	return isAtomic(atom) && len(atom.Map.Fields) == 0 &&
		atom.Map.ElementType.Inlined.Scalar != nil && *atom.Map.ElementType.Inlined.Scalar == schema.String
}

// isLabelSelector reports whether a type is a label selector. Other atomic structures do not count, because
// the API server adds members to them.
func isLabelSelector(atom schema.Atom) bool {
	if !isAtomic(atom) {
		return false
	}
	_, labels := atom.Map.FindField("matchLabels")
	_, expressions := atom.Map.FindField("matchExpressions")
	return labels && expressions
}

func isAtomic(atom schema.Atom) bool {
	return atom.Map != nil && atom.Map.ElementRelationship == schema.Atomic
}

func (e *extractor) refLeadsToList(ref schema.TypeRef) bool {
	if ref.NamedType != nil {
		return e.lists[*ref.NamedType]
	}
	return e.leadsToList(ref.Inlined)
}

// add adds a named type, and all that it refers to, to the table.
func (e *extractor) add(into *table, name string) error {
	short := shortName(name)
	if known, ok := into.Types[short]; ok {
		if known.name != name {
			return fmt.Errorf("%s and %s have the same short name", known.name, name)
		}
		return nil
	}
	definition, ok := e.schema.FindNamedType(name)
	if !ok || definition.Map == nil {
		return fmt.Errorf("%s is not a structure", name)
	}
	this := structure{name: name, fields: map[string]*node{}}
	into.Types[short] = this
	if isLabelSelector(definition.Atom) {
		into.Values = append(into.Values, short)
	}
	for _, field := range definition.Map.Fields {
		if !e.refLeadsToList(field.Type) {
			this.fields[field.Name] = &node{} // keeps only the name
			continue
		}
		n, err := e.node(into, field.Type)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", name, field.Name, err)
		}
		this.fields[field.Name] = n
	}
	return nil
}

// node returns a type that leads to a list.
func (e *extractor) node(into *table, ref schema.TypeRef) (*node, error) {
	if ref.NamedType != nil {
		return &node{Type: shortName(*ref.NamedType)}, e.add(into, *ref.NamedType)
	}
	atom := ref.Inlined
	if atom.List != nil {
		return e.list(into, atom.List)
	}
	if isText(atom) {
		return &node{Value: true}, nil
	}
	if len(atom.Map.Fields) != 0 {
		return nil, fmt.Errorf("a structure without a name")
	}
	elem, err := e.node(into, atom.Map.ElementType)
	return &node{Elem: elem}, err
}

func (e *extractor) list(into *table, list *schema.List) (*node, error) {
	n := &node{List: "atomic"}
	switch {
	case list.ElementRelationship == schema.Associative && len(list.Keys) != 0:
		n.List, n.Keys = "map", list.Keys
		n.Defaults = e.keyDefaults(list)
	case list.ElementRelationship == schema.Associative:
		n.List = "set"
	}
	if !e.refLeadsToList(list.ElementType) {
		return n, nil
	}
	elem, err := e.node(into, list.ElementType)
	n.Elem = elem
	return n, err
}

// keyDefaults omits empty defaults (0 and ""): they are the zero values of Go types, and no API server
// stores an element without such a key.
func (e *extractor) keyDefaults(list *schema.List) map[string]any {
	element, ok := e.schema.Resolve(list.ElementType)
	if !ok || element.Map == nil {
		return nil
	}
	defaults := map[string]any{}
	for _, key := range list.Keys {
		field, ok := element.Map.FindField(key)
		if ok && field.Default != nil && !isZero(field.Default) {
			defaults[key] = field.Default
		}
	}
	return defaults
}

func isZero(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case int:
		return v == 0
	case int64:
		return v == 0
	case float64:
		return v == 0
	}
	return false
}

// shortName returns the group, version and kind of a name such as io.k8s.api.apps.v1.Deployment.
func shortName(name string) string {
	parts := strings.Split(name, ".")
	return strings.Join(parts[max(0, len(parts)-3):], ".")
}
