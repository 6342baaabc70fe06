package kinds

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// openAPI contains the fields of a schema object (JSON Schema with extensions of Kubernetes) that concern lists,
// fields and defaults.
type openAPI struct {
	Ref                  string                `json:"$ref"`
	AllOf                []*openAPI            `json:"allOf"`
	Properties           map[string]*openAPI   `json:"properties"`
	Items                *openAPI              `json:"items"`
	AdditionalProperties *additionalProperties `json:"additionalProperties"`
	Default              any                   `json:"default"`
	ListType             ListKind              `json:"x-kubernetes-list-type"`
	ListMapKeys          []string              `json:"x-kubernetes-list-map-keys"`
	MapType              string                `json:"x-kubernetes-map-type"`
	Type                 any                   `json:"type"`
	// Kinds is only set for the schema object of a kind, not for those of its parts.
	Kinds    []groupVersionKind `json:"x-kubernetes-group-version-kind"`
	Open     bool               `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded bool               `json:"x-kubernetes-embedded-resource"`
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// additionalProperties is a schema object or a boolean. schema is nil for a boolean.
type additionalProperties struct{ schema *openAPI }

// UnmarshalJSON accepts both forms.
func (a *additionalProperties) UnmarshalJSON(content []byte) error {
	if len(content) == 0 || content[0] != '{' {
		return nil
	}
	return json.Unmarshal(content, &a.schema)
}

// isEmpty reports whether the schema object itself defines nothing about lists, for example because it only
// references others.
func (s *openAPI) isEmpty() bool {
	return len(s.Properties) == 0 && s.Items == nil && s.AdditionalProperties == nil && s.ListType == "" && !s.Open
}

// readSchema converts a schema object, and those that it references, to nodes.
func readSchema(root *openAPI, schemas map[string]*openAPI, gvk schema.GroupVersionKind) (*Node, error) {
	r := &reader{schemas: schemas, numbers: map[*openAPI]int{}, nodes: map[string]*Node{}}
	node, err := r.node(root)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", gvk, err)
	}
	return node, nil
}

// reader caches the node for every combination of schema objects, so that a kind that contains itself
// becomes a cycle of nodes.
type reader struct {
	schemas map[string]*openAPI
	// numbers gives each schema object a number. The keys of nodes consist of these numbers.
	numbers map[*openAPI]int
	// nodes contains the nodes by the keys of their combinations.
	nodes map[string]*Node
}

// node returns the node for a value that all the schema objects describe. It returns nil if they define
// nothing.
func (r *reader) node(descriptions ...*openAPI) (*Node, error) {
	parts, err := r.collect(nil, descriptions, map[*openAPI]bool{})
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	key := r.key(parts)
	if node, ok := r.nodes[key]; ok {
		return node, nil
	}
	node := &Node{}
	r.nodes[key] = node // store the node before filling it: it can contain itself
	return node, r.fill(node, parts)
}

// collect appends schema objects, and all that they include through $ref and allOf, to parts, without the empty ones. An
// object is before those that it includes, because the first definition of a list takes precedence. visited prevents
// endless recursion.
func (r *reader) collect(parts, descriptions []*openAPI, visited map[*openAPI]bool) (_ []*openAPI, err error) {
	for _, s := range descriptions {
		if s == nil || visited[s] {
			continue
		}
		visited[s] = true
		if !s.isEmpty() {
			parts = append(parts, s)
		}
		included := s.AllOf
		if s.Ref != "" {
			target, err := r.resolve(s.Ref)
			if err != nil {
				return nil, err
			}
			included = append([]*openAPI{target}, included...)
		}
		if parts, err = r.collect(parts, included, visited); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// resolve returns the schema object that a reference names. Only references within the document are supported, as API
// servers write them.
func (r *reader) resolve(ref string) (*openAPI, error) {
	name, ok := strings.CutPrefix(ref, "#/components/schemas/")
	if !ok {
		return nil, fmt.Errorf("reference to another document: %s", ref)
	}
	target, ok := r.schemas[name]
	if !ok {
		return nil, fmt.Errorf("no schema %s", name)
	}
	return target, nil
}

// key returns the cache key for a combination of schema objects.
func (r *reader) key(parts []*openAPI) string {
	var key strings.Builder
	for _, part := range parts {
		number, ok := r.numbers[part]
		if !ok {
			number = len(r.numbers)
			r.numbers[part] = number
		}
		key.WriteString(strconv.Itoa(number))
		key.WriteByte(' ')
	}
	return key.String()
}

// fill sets the fields of the node from all schema objects. If two of them define the same list, the first
// one wins, because it is closest to the field.
func (r *reader) fill(node *Node, parts []*openAPI) (err error) {
	properties := map[string][]*openAPI{}
	var elements []*openAPI
	for _, part := range parts {
		for name, property := range part.Properties {
			properties[name] = append(properties[name], property)
			node.setDefault(name, property)
		}
		if part.AdditionalProperties != nil {
			elements = append(elements, part.AdditionalProperties.schema)
		}
		if part.Items != nil {
			elements = append(elements, part.Items)
		}
		if node.List == "" {
			node.List, node.Keys = part.list()
		}
		node.OneValue = node.OneValue || part.isOneValue()
	}
	if node.elem, err = r.node(elements...); err != nil {
		return err
	}
	node.Defaults = node.elem.keyDefaults(node.Keys)
	node.fields = make(map[string]*Node, len(properties))
	for name, descriptions := range properties {
		field, err := r.node(descriptions...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		node.fields[name] = field
	}
	node.closed = isClosed(parts)
	return nil
}

// isClosed reports whether the value can only have the declared properties.
func isClosed(parts []*openAPI) bool {
	named := false
	for _, part := range parts {
		if part.Open || part.Embedded || part.AdditionalProperties != nil {
			return false
		}
		named = named || len(part.Properties) > 0
	}
	return named
}

// list returns the list type and the keys. A list without a type, or with an unknown type, is atomic.
func (s *openAPI) list() (ListKind, []string) {
	switch {
	case s.ListType == Map && len(s.ListMapKeys) != 0:
		return Map, s.ListMapKeys
	case s.ListType == Set:
		return Set, nil
	case s.ListType != "" || s.Items != nil:
		return Atomic, nil
	}
	return "", nil
}

// isOneValue reports whether the schema object is a label selector or an atomic map of strings. Other
// atomic structures do not count, because the API server adds members to them.
func (s *openAPI) isOneValue() bool {
	if s.MapType != "atomic" {
		return false
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.schema != nil {
		return s.AdditionalProperties.schema.Type == "string"
	}
	return s.Properties["matchLabels"] != nil && s.Properties["matchExpressions"] != nil
}

// keyDefaults returns the default of each key of a list that has one. n is the type of the elements.
func (n *Node) keyDefaults(keys []string) (defaults map[string]any) {
	for _, key := range keys {
		if value, defined := n.Default(key); defined {
			if defaults == nil {
				defaults = map[string]any{}
			}
			defaults[key] = value
		}
	}
	return defaults
}

// setDefault records the default of a field, unless another schema object has defined one.
func (n *Node) setDefault(name string, property *openAPI) {
	if _, defined := n.defaults[name]; defined || !property.hasDefault() {
		return
	}
	if n.defaults == nil {
		n.defaults = map[string]any{}
	}
	n.defaults[name] = integer(property.Default)
}

// hasDefault reports whether the schema object defines a default that is not empty. Empty defaults are ignored: in the
// built-in kinds they are Go's zero values, and no API server stores a list element whose key is one.
func (s *openAPI) hasDefault() bool {
	if s == nil {
		return false
	}
	switch value := s.Default.(type) {
	case nil:
		return false
	case string:
		return value != ""
	case float64:
		return value != 0
	case map[string]any:
		return len(value) > 0
	}
	return true
}

// integer converts whole numbers to int64, the type they have in objects read from an API server. It
// returns other values unchanged.
func integer(value any) any {
	number, ok := value.(float64)
	if !ok || number != math.Trunc(number) || math.Abs(number) > 1<<53 {
		return value
	}
	return int64(number)
}
