package kinds

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// objectMeta is the name of the type of every object's metadata.
const objectMeta = "meta.v1.ObjectMeta"

//go:embed builtin.json
var builtinJSON []byte

// table is builtin.json: what tools/listtypes writes.
type table struct {
	Kinds map[string]string            `json:"kinds"`
	Types map[string]map[string]*entry `json:"types"`
	// Values are those of the types that are one value as a whole.
	Values []string `json:"values"`
}

// entry is the type of one field or element in builtin.json. It names another
// type, or else it is a list (List is set) or a map, which may be one value.
type entry struct {
	Type     string         `json:"type"`
	List     ListKind       `json:"list"`
	Keys     []string       `json:"keys"`
	Defaults map[string]any `json:"defaults"`
	Elem     *entry         `json:"elem"`
	Value    bool           `json:"value"`
}

// builtin is the parsed table: read once, when it is first asked for.
var builtin = sync.OnceValue(func() linked {
	result, err := link(builtinJSON)
	if err != nil {
		panic("kinds: builtin.json: " + err.Error()) // generated, and read by tests
	}
	return result
})

// Builtin returns the schema of a kind that Kubernetes itself has, or nil.
func Builtin(gvk schema.GroupVersionKind) *Node {
	known := builtin()
	return known.types[known.kinds[gvk.GroupVersion().String()+" "+gvk.Kind]]
}

// metadata returns the schema of the metadata of every object.
func metadata() *Node {
	return builtin().types[objectMeta]
}

// linked is a table whose types are nodes that point to each other.
type linked struct {
	kinds map[string]string
	types map[string]*Node
}

func link(content []byte) (linked, error) {
	var raw table
	if err := json.Unmarshal(content, &raw); err != nil {
		return linked{}, err
	}
	result := linked{kinds: raw.Kinds, types: make(map[string]*Node, len(raw.Types))}
	for name := range raw.Types {
		result.types[name] = &Node{closed: len(raw.Types[name]) > 0} // without any, it is free-form
	}
	for name, fields := range raw.Types {
		node := result.types[name]
		node.fields = make(map[string]*Node, len(fields))
		for field, e := range fields {
			linkedField, err := result.node(e)
			if err != nil {
				return linked{}, fmt.Errorf("%s.%s: %w", name, field, err)
			}
			node.fields[field] = linkedField
		}
	}
	for _, name := range raw.Values {
		node, ok := result.types[name]
		if !ok {
			return linked{}, fmt.Errorf("no type %s", name)
		}
		node.OneValue = true
	}
	return result, nil
}

func (l linked) node(e *entry) (*Node, error) {
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
