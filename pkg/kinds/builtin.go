package kinds

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectMeta is the type name of the metadata of every object.
const objectMeta = "meta.v1.ObjectMeta"

//go:embed builtin.json
var builtinJSON []byte

// table is the content of builtin.json, as tools/listtypes writes it. Type names are derived from the Go packages,
// such as core.v1.PodSpec.
type table struct {
	// Kinds maps "GROUP/VERSION KIND" to the name of a type.
	Kinds map[string]string `json:"kinds"`
	// Types maps the name of a type to its fields.
	Types map[string]map[string]*entry `json:"types"`
	// Values lists the map types that are atomic.
	Values []string `json:"values"`
}

// entry is the type of one field or element in builtin.json: a reference to another type, a list (if List
// is set), or a map, which can be atomic.
type entry struct {
	Type     string         `json:"type"`
	List     ListKind       `json:"list"`
	Keys     []string       `json:"keys"`
	Defaults map[string]any `json:"defaults"`
	Elem     *entry         `json:"elem"`
	Value    bool           `json:"value"`
}

// builtin returns the parsed table. It is parsed on first use.
var builtin = sync.OnceValue(func() linkedTable {
	result, err := link(builtinJSON)
	if err != nil {
		panic("kinds: builtin.json: " + err.Error()) // the file is generated and covered by tests
	}
	return result
})

// Builtin returns the schema of a built-in kind of Kubernetes. It returns nil for other kinds and versions.
func Builtin(gvk schema.GroupVersionKind) *Node {
	known := builtin()
	return known.types[known.kinds[gvk.GroupVersion().String()+" "+gvk.Kind]]
}

// linkedTable is a table whose types are resolved to nodes that reference each other.
type linkedTable struct {
	// kinds maps "GROUP/VERSION KIND" to a key of types.
	kinds map[string]string
	types map[string]*Node
}

// link parses builtin.json and connects its types. It makes the nodes of all types first, because types refer to each
// other in cycles.
func link(content []byte) (linkedTable, error) {
	var raw table
	if err := json.Unmarshal(content, &raw); err != nil {
		return linkedTable{}, err
	}
	result := linkedTable{kinds: raw.Kinds, types: make(map[string]*Node, len(raw.Types))}
	for name := range raw.Types {
		result.types[name] = &Node{closed: len(raw.Types[name]) > 0} // a type without fields is free-form
	}
	for name, fields := range raw.Types {
		node := result.types[name]
		node.fields, node.defaults = make(map[string]*Node, len(fields)), builtinDefaults[name]
		for field, e := range fields {
			linkedField, err := result.node(e)
			if err != nil {
				return linkedTable{}, fmt.Errorf("%s.%s: %w", name, field, err)
			}
			// Every additional element of these lists grants something. So do the lists of rules, subjects and peers, but
			// their elements have no keys.
			if strings.HasPrefix(name, "admissionregistration.") && (field == "webhooks" || field == "matchConditions") {
				linkedField.Grants = true
			}
			node.fields[field] = linkedField
		}
	}
	for _, name := range raw.Values {
		node, ok := result.types[name]
		if !ok {
			return linkedTable{}, fmt.Errorf("no type %s", name)
		}
		node.OneValue = true
	}
	return result, nil
}

// node returns the node of a field or element: the shared node of a named type, or a new one. It returns nil for nil.
func (l linkedTable) node(e *entry) (*Node, error) {
	if e == nil {
		return nil, nil
	}
	if e.Type != "" {
		node, ok := l.types[e.Type]
		if !ok {
			return nil, fmt.Errorf("no type %s", e.Type)
		}
		return node, nil
	}
	if e.List == "" && e.Elem == nil {
		return &Node{OneValue: e.Value}, nil
	}
	elem, err := l.node(e.Elem)
	if err != nil {
		return nil, err
	}
	for key, value := range e.Defaults {
		e.Defaults[key] = integer(value)
	}
	return &Node{List: e.List, Keys: e.Keys, Defaults: e.Defaults, OneValue: e.Value, elem: elem}, nil
}
