package tosca

import (
	"maps"
	"slices"
	"strings"
)

// kind is which section of a file a type is declared in.
type kind int

const (
	nodeTypes kind = iota
	dataTypes
	capabilityTypes
	relationshipTypes
	artifactTypes
	interfaceTypes
	policyTypes
	groupTypes
	kinds
)

// String is what messages call a type of the kind.
func (k kind) String() string {
	return [...]string{"node", "data", "capability", "relationship", "artifact", "interface", "policy", "group"}[k] + " type"
}

var sections = map[string]kind{
	"node_types": nodeTypes, "data_types": dataTypes,
	"capability_types": capabilityTypes, "relationship_types": relationshipTypes, "artifact_types": artifactTypes,
	"interface_types": interfaceTypes, "policy_types": policyTypes, "group_types": groupTypes,
}

// KubernetesObject is the type of nodes that are manifests. Alias is Holdfast's
// own name of it.
const (
	KubernetesObject = "tosca.nodes.indigo.KubernetesObject"
	Alias            = "holdfast.nodes.KubernetesObject"
)

// definition is a type.
type definition struct {
	name   string
	kind   kind
	at     place
	parent string
	// properties and attributes are own ones only.
	properties, attributes map[string]*schema
	constraints            *[]constraint
	// scale is that of a type derived from scalar, once it is known.
	scale *scale
	// opaque types are known by name only: any property goes.
	opaque bool
	// kubernetes is set for the built-in types of manifests.
	kubernetes bool
}

// readTypes notes the types that a file declares.
func (t *translator) readTypes(f *file) {
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		p := f.root.get(section)
		if !t.wantMap(p) {
			continue
		}
		for _, entry := range p.entries() {
			t.readType(f, sections[section], entry)
		}
	}
}

func (t *translator) readType(f *file, kind kind, p place) {
	if !p.isMap() && !p.isNull() {
		t.faults.add(p, InvalidShape, "must be a map, not %s", p.describe())
		return
	}
	d := &definition{name: p.name(), kind: kind, at: p}
	if d.name == KubernetesObject && kind == dataTypes {
		t.warn(p, "a node type belongs into node_types")
		d.kind = nodeTypes
	}
	d.kubernetes = d.kind == nodeTypes && (d.name == KubernetesObject || d.name == Alias)
	if parent := p.get("derived_from"); parent.exists() && !parent.isNull() {
		d.parent = parent.text()
	}
	if f.types[d.kind] == nil {
		f.types[d.kind] = map[string]*definition{}
	}
	f.types[d.kind][d.name] = d
}

// lookup finds a type by the name that it has in f: declared there, imported, or
// built in.
func (f *file) lookup(kind kind, name string) *definition {
	if found := f.declared(kind, name, map[lookedUp]bool{}); found != nil {
		return found
	}
	if found := builtin[kind][name]; found != nil {
		return found
	}
	short := strings.TrimPrefix(name, "tosca:")
	for _, namespace := range shortNames[kind] {
		if found := builtin[kind][namespace+short]; found != nil {
			return found
		}
	}
	return nil
}

// shortNames are the namespaces that the grammar lets one leave out.
var shortNames = map[kind][]string{
	nodeTypes:         {"tosca.nodes."},
	dataTypes:         {"tosca.datatypes.", "tosca.datatypes.network."},
	capabilityTypes:   {"tosca.capabilities.", "tosca.capabilities.network."},
	relationshipTypes: {"tosca.relationships.", "tosca.relationships.network."},
	artifactTypes:     {"tosca.artifacts.", "tosca.artifacts.Deployment.", "tosca.artifacts.Implementation."},
	interfaceTypes:    {"tosca.interfaces.", "tosca.interfaces.node.lifecycle.", "tosca.interfaces.relationship."},
	policyTypes:       {"tosca.policies."},
	groupTypes:        {"tosca.groups."},
}

// lookedUp is a name that was looked for in a file: files import each other in
// loops, and under several prefixes.
type lookedUp struct {
	file *file
	name string
}

func (f *file) declared(kind kind, name string, seen map[lookedUp]bool) *definition {
	if seen[lookedUp{f, name}] {
		return nil
	}
	seen[lookedUp{f, name}] = true
	if found := f.types[kind][name]; found != nil {
		return found
	}
	for _, imported := range f.imports {
		if rest, ok := imported.strip(name); ok {
			if found := imported.file.declared(kind, rest, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

// strip takes the namespace of an import off a name: prefix:Type, or prefix.Type
// as tosca-parser writes it.
func (e edge) strip(name string) (string, bool) {
	if e.prefix == "" {
		return name, true
	}
	if rest, ok := strings.CutPrefix(name, e.prefix+":"); ok {
		return rest, true
	}
	return strings.CutPrefix(name, e.prefix+".")
}

// minimalAnywhere tells whether f, or a file it imports, has an import that was
// replaced by the built-in types.
func (f *file) minimalAnywhere(seen map[*file]bool) bool {
	if f.minimal || seen[f] {
		return f.minimal
	}
	seen[f] = true
	return slices.ContainsFunc(f.imports, func(e edge) bool { return e.file.minimalAnywhere(seen) })
}

// typeNames are the names of the types that a file can use, for suggestions.
func (f *file) typeNames(kind kind) []string {
	names := slices.Collect(maps.Keys(builtin[kind]))
	f.addNames(kind, "", &names, map[*file]bool{})
	return names
}

func (f *file) addNames(kind kind, prefix string, names *[]string, seen map[*file]bool) {
	if seen[f] {
		return
	}
	seen[f] = true
	for name := range f.types[kind] {
		*names = append(*names, prefix+name)
	}
	for _, imported := range f.imports {
		below := prefix
		if imported.prefix != "" {
			below += imported.prefix + ":"
		}
		imported.file.addNames(kind, below, names, seen)
	}
}
