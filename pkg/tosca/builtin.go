package tosca

import (
	"context"
	"embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed profiles/*.yaml
var profileFiles embed.FS

// profiles are the files of types that are built in.
type profiles struct{ simple, nfv, sol001 *file }

// builtIn reads the profiles, once: several translations share them. After that nothing
// in them changes.
var builtIn func() profiles

func init() { // reading them looks types up, also in them
	builtIn = sync.OnceValue(readProfiles)
}

func readProfiles() profiles {
	s := &session{ctx: context.Background(), limits: DefaultLimits(), regexps: map[string]pattern{}} //nolint:forbidigo // it is for no caller in particular
	all := profiles{s.readProfile("simple"), s.readProfile("nfv"), s.readProfile("sol001")}
	all.nfv.imports, all.sol001.imports = []edge{{file: all.simple}}, []edge{{file: all.simple}}
	files := []*file{all.simple, all.nfv, all.sol001}
	types := newLibrary(s, files, all.simple)
	for _, f := range files {
		types.readTypes(f)
	}
	own := *all.simple.types[nodeTypes][KubernetesObject]
	own.name = Alias
	all.simple.types[nodeTypes][Alias] = &own
	for _, f := range files {
		for kind := range f.types {
			for _, d := range f.types[kind] {
				d.properties = types.readSchemas(d.at.get("properties"), false)
				d.attributes = types.readSchemas(d.at.get("attributes"), false)
				types.constraintsOf(d)
			}
		}
	}
	if !s.faults.empty() {
		panic(s.faults.err())
	}
	return all
}

func (t *session) readProfile(name string) *file {
	data, _ := profileFiles.ReadFile("profiles/" + name + ".yaml")
	f := &file{name: name, profile: true, version: versions["tosca_simple_yaml_1_3"]}
	t.parse(f, data)
	return f
}

// implied are the profiles whose types a file can use without an import, those that
// prevail first.
func (f *file) implied() []*file {
	all := builtIn()
	if strings.HasPrefix(f.version.name, "tosca_simple_profile_for_") {
		return []*file{all.simple, all.nfv, all.sol001}
	}
	return []*file{all.simple, all.sol001, all.nfv}
}

// sol001 are the files of types of ETSI GS NFV-SOL 001. Many import them by a path at
// which they are not: then what is built in stands for them.
var sol001 = regexp.MustCompile(`(?:^|/)etsi_nfv_sol001_[a-z]+_types(?:\.ya?ml)?$`)

// The names of the normative types, tosca-parser's and TOSCA's, and of the profiles for
// network functions and the edge.
var (
	simple  = regexp.MustCompile(`^(?:tosca-normative-types|tosca_simple_yaml_1_[0-3]|(?:org\.oasis-open\.(?:tosca\.)?(?:simple|non-normative)|tosca\.simple)(?::(?:1\.[0-3]|2\.0))?)$`)
	nfv1    = regexp.MustCompile(`^tosca_simple_profile_for_(?:nfv_1_0|nfv_1_0_0|mec_1_0_0)$`)
	inStock = "org.oasis-open.simple (1.0 to 2.0), tosca_simple_profile_for_nfv_1_0_0 and etsi_nfv_sol001_vnfd_types"
)

// profileNamed is the profile that an import names, nil if it names none.
func profileNamed(reference string) *file {
	switch {
	case sol001.MatchString(reference):
		return builtIn().sol001
	case nfv1.MatchString(reference):
		return builtIn().nfv
	case simple.MatchString(reference):
		return builtIn().simple
	default:
		return nil
	}
}

// shortSchema reads a property as the profiles write it: string, string! if it is
// required, list of string.
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

func (t *library) fullName(p fileNode, name string) string {
	if d := t.dataType(p.file, name); d != nil {
		return d.name
	}
	t.checkTypeName(p, name)
	return name
}
