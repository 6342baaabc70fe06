package kinds

import (
	_ "embed"
	"encoding/json"
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
var builtin = sync.OnceValue(link)

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
// other in cycles. It panics if the file is invalid, which is generated and covered by tests.
func link() linkedTable {
	var raw table
	if err := json.Unmarshal(builtinJSON, &raw); err != nil {
		panic("kinds: builtin.json: " + err.Error())
	}
	result := linkedTable{kinds: raw.Kinds, types: make(map[string]*Node, len(raw.Types))}
	for name := range raw.Types {
		result.types[name] = &Node{closed: len(raw.Types[name]) > 0} // a type without fields is free-form
	}
	for name, fields := range raw.Types {
		node := result.types[name]
		node.fields, node.defaults = make(map[string]*Node, len(fields)), builtinDefaults[name]
		for field, e := range fields {
			linkedField := result.node(e)
			// Every additional element of these lists grants something. So do the lists of rules, subjects and peers, but
			// their elements have no keys.
			if strings.HasPrefix(name, "admissionregistration.") && (field == "webhooks" || field == "matchConditions") {
				linkedField.Grants = true
			}
			node.fields[field] = linkedField
		}
	}
	for _, name := range raw.Values {
		result.named(name).OneValue = true
	}
	return result
}

// named returns the node of a named type. It panics if there is none.
func (l linkedTable) named(name string) *Node {
	node, ok := l.types[name]
	if !ok {
		panic("kinds: builtin.json: no type " + name)
	}
	return node
}

// node returns the node of a field or element: the shared node of a named type, or a new one. It returns nil for nil.
func (l linkedTable) node(e *entry) *Node {
	switch {
	case e == nil:
		return nil
	case e.Type != "":
		return l.named(e.Type)
	case e.List == "" && e.Elem == nil:
		return &Node{OneValue: e.Value}
	}
	for key, value := range e.Defaults {
		e.Defaults[key] = integer(value)
	}
	return &Node{List: e.List, Keys: e.Keys, Defaults: e.Defaults, OneValue: e.Value, elem: l.node(e.Elem)}
}
