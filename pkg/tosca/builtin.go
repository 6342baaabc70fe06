package tosca

import (
	"context"
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// simpleProfile contains the normative types. Its short form does not exist in templates: see shortSchema, and readType
// for the names of its types.
//
//go:embed profiles/simple.yaml
var simpleProfile []byte

// builtIn returns the file of the normative types. It reads the file once, and concurrent translations share it. After
// that, nothing in it changes. A program that never translates does not read it.
var builtIn func() *file

func init() { // reading it looks types up, also in it
	builtIn = sync.OnceValue(readBuiltIn)
}

// readBuiltIn reads the embedded profile. It panics on a mistake in it, which a test would find. It reads all schemas
// and constraints, so that no translation writes to the shared definitions. The session is its own, so a translation is
// not charged for it. The profile must not contain patterns, because their compiled form belongs to a session, and no
// types derived from scalar, whose scale is computed on first use.
func readBuiltIn() *file {
	s := newSession(context.Background(), Source{}, Options{}) //nolint:forbidigo // it is for no caller in particular
	f := &file{name: "simple", profile: true, version: versions["tosca_simple_yaml_1_3"]}
	s.parse(f, simpleProfile)
	types := newLibrary(s, []*file{f}, f)
	types.readTypes(f)
	own := *f.types[nodeTypes][KubernetesObject]
	own.name = Alias
	// The alias is a copy of the normative type, with the same properties.
	f.types[nodeTypes][Alias] = &own
	for kind := range f.types {
		for _, d := range f.types[kind] {
			d.properties = types.readSchemas(d.at.get("properties"))
			types.constraintsOf(d)
		}
	}
	if !s.faults.empty() {
		panic(s.faults.err())
	}
	return f
}

// sol001 matches the names of the files with the types of ETSI GS NFV-SOL 001. Many templates import them by a path
// where they do not exist. Then only the names of the types are known. An example is etsi_nfv_sol001_vnfd_types.yaml,
// in any directory or on any server.
var sol001 = regexp.MustCompile(`(?:^|/)etsi_nfv_sol001_[a-z]+_types(?:\.ya?ml)?$`)

// The names of the normative types, tosca-parser's and TOSCA's, of the profiles for
// network functions and the edge, and of the types that users of this family of templates
// import. Nothing is fetched for any of them.
var (
	simple      = regexp.MustCompile(`^(?:tosca-normative-types|tosca_simple_yaml_1_[0-3]|(?:org\.oasis-open\.(?:tosca\.)?(?:simple|non-normative)|tosca\.simple)(?::(?:1\.[0-3]|2\.0))?)$`)
	nfv         = regexp.MustCompile(`^tosca_simple_profile_for_(?:nfv_1_0|nfv_1_0_0|mec_1_0_0)$`)
	customTypes = regexp.MustCompile(`^https?://(raw\.githubusercontent\.com|github\.com)/(grycap|indigo-dc)/[\w./-]*custom_types\.ya?ml$`)
	inStock     = "org.oasis-open.simple (1.0 to 2.0), tosca_simple_profile_for_nfv_1_0_0 and etsi_nfv_sol001_vnfd_types"
)

// shortSchema reads a property in the short form of the built-in profile: string, string! if it is required, list of
// string. The names of types have no namespace in it, and the result contains the full name: Credential is
// tosca.datatypes.Credential.
func (t *library) shortSchema(p fileNode) *schema {
	text, required := strings.CutSuffix(p.text(), "!")
	s := &schema{at: p, required: required}
	outer, inner, isContainer := strings.Cut(text, " of ")
	s.typeName = t.fullName(p, outer)
	if isContainer {
		s.entry = &schema{at: p, typeName: t.fullName(p, inner), required: true}
	}
	return s
}

// fullName returns the full name of a data type. It reports an unknown name, and returns it unchanged.
func (t *typeIndex) fullName(p fileNode, name string) string {
	if d := t.find(p.file, dataTypes, name); d != nil {
		return d.name
	}
	t.checkTypeName(p, name)
	return name
}
