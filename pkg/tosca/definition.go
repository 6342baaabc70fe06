package tosca

import (
	"regexp"
	"slices"
)

// basis is the type that the values of a schema are finally made of.
type basis struct {
	// name is a key of primitives, or the name of a data type with properties. It is "" for an unknown type.
	name  string
	scale *scale // nil if it is not a number with a unit
}

// constraint is one clause: an operator and its argument.
type constraint struct {
	// op is one of operators, or "validation" for a call of TOSCA 2.0 that is evaluated.
	op string
	at fileNode
	// bound is the argument; nil for a validation.
	bound any
}

// file is one template or file of types.
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
	// types has the types that the file declares, by kind and name. A nil map is empty.
	types [kinds]map[string]*definition
	// minimal is set if the file imports well-known types of which only the names are known.
	minimal bool
	// profile is set if the file is built in.
	profile bool
	// doubles are the duplicate keys, by the node template that contains them.
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
// ones. It changes neither schema.
func (s *schema) refining(inherited *schema) *schema {
	if inherited == nil {
		return s
	}
	merged := *s
	if merged.typeName == "" {
		merged.typeName = inherited.typeName
	}
	if !merged.initial.exists() {
		merged.initial = inherited.initial
	}
	if !merged.fixed.exists() {
		merged.fixed = inherited.fixed
	}
	if !s.at.get("required").exists() {
		merged.required = inherited.required
	}
	if merged.entry == nil {
		merged.entry = inherited.entry
	}
	if merged.key == nil {
		merged.key = inherited.key
	}
	merged.constraints = append(slices.Clone(inherited.constraints), s.constraints...)
	return &merged
}

// specKey is the property with the manifest of a Kubernetes node.
const specKey = "spec"

// kind is the section of a file in which a type is declared.
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

// String returns the name of a type of the kind in messages.
func (k kind) String() string {
	return [...]string{"node", "data", "capability", "relationship", "artifact", "interface", "policy", "group"}[k] + " type"
}

// sections maps the keys of a file to the kind of the types in them.
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

// definition is a type as a file declares it.
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
	// kubernetes is set for the types of manifests.
	kubernetes bool
	// mistakes are the errors in the definition. They are reported only if a manifest needs the type.
	mistakes []*Error
}

// pattern is a compiled regular expression with its approximate number of instructions.
type pattern struct {
	// form matches entire values.
	form *regexp.Regexp
	cost int
}

// version is a version of the grammar.
type version struct {
	name         string
	major, minor int
}

// dollar reports whether calls of functions begin with $.
func (v version) dollar() bool { return v.major >= 2 }
