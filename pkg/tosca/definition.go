package tosca

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// basis is the type that the values of a schema are finally made of.
type basis struct {
	// name is a key of primitives, or the name of a data type with properties. It is "" for an unknown type.
	name  string
	scale *scale // nil if it is not a number with a unit
}

// constraint is one clause: an operator and its argument. It is shared by all values of a type, so checkConstraint
// works on a copy.
type constraint struct {
	// op is one of operators, or "validation" for a call of TOSCA 2.0 that is evaluated.
	op string
	at fileNode
	// bound is the argument; nil for a validation.
	bound any
}

// file is one template or file of types. The loader sets the fields up to version, and imports; the library sets types.
// After that, it is not changed.
type file struct {
	// name is the name of the file in messages.
	name string
	// at is the address of the file. Its references are relative to it.
	at location
	// sealed files are not quoted in messages, because they were fetched or are sensitive.
	sealed bool
	// depth is the number of imports between the entry template and the file.
	depth int
	// root is absent if the file could not be parsed.
	root fileNode
	// version is the grammar of the file; the zero value after an error.
	version version
	// imports are the imported files that are read, in order. Their types can be used in this file.
	imports []edge
	// types contains the types that the file declares, by kind and name. A nil map is empty.
	types [kinds]map[string]*definition
	// minimal is set if the file imports well-known types of which only the names are known.
	minimal bool
	// profile is set if the file is built in.
	profile bool
	// doubles are the errors about duplicate keys, by the node template that contains them. They count only if the node
	// is a Kubernetes object. The guard finds them while the file is parsed, when the type of the node is not known yet.
	// checkTopology reports them.
	doubles map[string][]*Error
}

// edge is an import of a file, with the namespace that the importing file gives to its types.
type edge struct {
	// prefix is the namespace; "" if the types are used by their own names.
	prefix string
	file   *file
}

// scale is a type of numbers with units, such as 4 GB.
type scale struct {
	// units are the multiples of the smallest or canonical unit, by the name of the unit.
	units map[string]float64
	// folded is set if names of units are in lower case: TOSCA 1.x does not distinguish kB and KB.
	folded bool
	// number is the type of the number: integer, float, or a type derived from them. It is nil for any
	// number.
	number *schema
}

// schema describes the values of an input, a property, or the entries of a list or map. It is not changed after it
// was read.
type schema struct {
	// at is the definition in its file, in which typeName is looked up.
	at fileNode
	// typeName is "" if the definition has no type.
	typeName string
	// required is true by default: a missing value is then an error.
	required bool
	initial  fileNode // the default
	fixed    fileNode // a value that cannot be changed, in TOSCA 2.0
	// constraints include the inherited ones, after refining.
	constraints []constraint
	// entry and key are the schemas of the entries and keys of a list or map; nil if they can have any type.
	entry, key *schema
}

// refining returns s with the missing parts of the definition that it refines. A constraint is added to the inherited
// ones. It changes neither schema. A key of the derived definition replaces that of the inherited one, except for
// constraints: a value must satisfy both.
func (s *schema) refining(inherited *schema) *schema {
	if inherited == nil {
		return s
	}
	merged := *s
	merged.typeName = cmp.Or(s.typeName, inherited.typeName)
	merged.initial = cmp.Or(s.initial, inherited.initial)
	merged.fixed = cmp.Or(s.fixed, inherited.fixed)
	merged.entry = cmp.Or(s.entry, inherited.entry)
	merged.key = cmp.Or(s.key, inherited.key)
	if !s.at.get("required").exists() {
		merged.required = inherited.required
	}
	merged.constraints = append(slices.Clone(inherited.constraints), s.constraints...)
	return &merged
}

// specKey is the property with the manifest of a Kubernetes node.
const specKey = "spec"

// kind is the section of a file in which a type is declared. Kinds are in the order in which the sections are read. A
// type is found by its kind and name, so a node type and a data type can have the same name.
type kind int

const (
	artifactTypes kind = iota
	capabilityTypes
	dataTypes
	groupTypes
	interfaceTypes
	nodeTypes
	policyTypes
	relationshipTypes
	kinds
)

// kindNames are the key of a file with the types of a kind, and the namespaces that a template may omit. The first
// namespace is also that of the built-in types, and meantKind recognizes the kind by it. Most templates write Compute
// or HttpsOnly for tosca.nodes.Compute and the like, so the namespaces are tried in order.
type kindNames struct {
	section    string
	namespaces []string
}

// kindTable lists the names of each kind.
var kindTable = [kinds]kindNames{
	artifactTypes:     {"artifact_types", []string{"tosca.artifacts.", "tosca.artifacts.Deployment.", "tosca.artifacts.Implementation."}},
	capabilityTypes:   {"capability_types", []string{"tosca.capabilities.", "tosca.capabilities.network."}},
	dataTypes:         {"data_types", []string{"tosca.datatypes.", "tosca.datatypes.network."}},
	groupTypes:        {"group_types", []string{"tosca.groups."}},
	interfaceTypes:    {"interface_types", []string{"tosca.interfaces.", "tosca.interfaces.node.lifecycle.", "tosca.interfaces.relationship."}},
	nodeTypes:         {"node_types", []string{"tosca.nodes.", "tosca.nodes.network."}},
	policyTypes:       {"policy_types", []string{"tosca.policies."}},
	relationshipTypes: {"relationship_types", []string{"tosca.relationships.", "tosca.relationships.network."}},
}

// String returns the name of a type of the kind in messages, such as "node type".
func (k kind) String() string {
	return strings.ReplaceAll(strings.TrimSuffix(kindTable[k].section, "s"), "_", " ")
}

// isSection reports whether a key of a file contains types.
func isSection(key string) bool {
	return slices.ContainsFunc(kindTable[:], func(names kindNames) bool { return names.section == key })
}

// KubernetesObject is the type of nodes that are manifests. Alias is Holdfast's
// own name of it.
const (
	KubernetesObject = "tosca.nodes.indigo.KubernetesObject"
	Alias            = "holdfast.nodes.KubernetesObject"
)

// definition is a type as a file declares it. Definitions of the built-in profile are shared by all translations, and
// readBuiltIn has filled them completely.
type definition struct {
	name string
	// kind is the section in which the type belongs, which can differ from the one where it is declared: see
	// meantKind.
	kind kind
	at   fileNode
	// parent is the name in derived_from; "" for a root type.
	parent string
	// properties are the own properties of the type, without inherited ones.
	properties map[string]*schema
	// constraints are nil until constraintsOf has read them.
	constraints *[]constraint
	// scale is set for a type derived from scalar, after it has been determined.
	scale *scale
	// opaque is set if only the name of the type is known. Such a type accepts any property.
	opaque bool
	// mistakes are the errors in the definition. They are reported only if a manifest needs the type.
	mistakes []*Error
}

// isManifest reports whether the nodes of a type are manifests.
func (d *definition) isManifest() bool { return d.name == KubernetesObject || d.name == Alias }

// pattern is a compiled regular expression with its approximate number of instructions.
type pattern struct {
	// form matches entire values.
	form *regexp.Regexp
	cost int
}

// version is a version of the grammar. Only major and the method dollar decide about the grammar; minor matters for the
// metadata of an archive.
type version struct {
	name         string
	major, minor int
}

// dollar reports whether calls of functions begin with $.
func (v version) dollar() bool { return v.major >= 2 }
