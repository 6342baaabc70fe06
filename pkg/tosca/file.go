package tosca

import (
	"cmp"

	"holdfast.dev/holdfast/pkg/manifest"
)

// topology returns the part with inputs, nodes and outputs: topology_template, or service_template in TOSCA 2.0. It is
// absent in a file of types. Both names are read in every version. A template with both is an error, which readTopology
// reports.
func (f *file) topology() fileNode {
	p := cmp.Or(f.root.get("topology_template"), f.root.get("service_template"))
	p.path = nil // messages leave out what is the same everywhere
	return p
}

// versions maps the values of tosca_definitions_version to the grammar. The profiles for network functions and the edge
// have the grammar of TOSCA 1.0. The URLs are the namespaces of these versions, which some authors write instead.
var versions = map[string]version{
	"tosca_simple_yaml_1_0": {"tosca_simple_yaml_1_0", 1, 0},
	"tosca_simple_yaml_1_1": {"tosca_simple_yaml_1_1", 1, 1},
	"tosca_simple_yaml_1_2": {"tosca_simple_yaml_1_2", 1, 2},
	"tosca_simple_yaml_1_3": {"tosca_simple_yaml_1_3", 1, 3},
	"tosca_2_0":             {"tosca_2_0", 2, 0},

	"tosca_simple_profile_for_mec_1_0_0": {"tosca_simple_profile_for_mec_1_0_0", 1, 0},
	"tosca_simple_profile_for_nfv_1_0":   {"tosca_simple_profile_for_nfv_1_0", 1, 0},
	"tosca_simple_profile_for_nfv_1_0_0": {"tosca_simple_profile_for_nfv_1_0_0", 1, 0},

	"http://docs.oasis-open.org/tosca/ns/simple/yaml/1.0": {"tosca_simple_yaml_1_0", 1, 0},
	"http://docs.oasis-open.org/tosca/ns/simple/yaml/1.1": {"tosca_simple_yaml_1_1", 1, 1},
	"http://docs.oasis-open.org/tosca/ns/simple/yaml/1.2": {"tosca_simple_yaml_1_2", 1, 2},
	"http://docs.oasis-open.org/tosca/ns/simple/yaml/1.3": {"tosca_simple_yaml_1_3", 1, 3},
}

const versionKey = "tosca_definitions_version"

// readVersion sets the grammar of a file. A file of types without a version uses that of the file that imports it.
// importer is nil for the entry template. After an error, the version is the zero value, and the file is read as TOSCA
// 1.x to find further errors. In TOSCA 2.0, the version must be the first key: a parser can then choose the grammar
// before it reads the rest.
func (t *session) readVersion(f, importer *file) {
	p := f.root.get(versionKey)
	if !p.exists() && importer != nil {
		f.version = importer.version
		return
	}
	if !p.exists() {
		t.faults.add(f.root, MissingRequiredKeyname, "%s is missing: it must be one of %s", versionKey, versionNames)
		return
	}
	var known bool
	if f.version, known = versions[p.text()]; !known {
		t.faults.add(p, UnknownVersion, "%s must be one of %s", quote(p.text()), versionNames)
		return
	}
	if f.version.dollar() && manifest.Target(f.root.node.Content[0]).Value != versionKey {
		t.warn(p, "must be the first line in TOSCA 2.0")
	}
}

// versionNames are the versions in messages. They omit the profiles and the URLs, whose grammars are among these.
const versionNames = "tosca_simple_yaml_1_0, tosca_simple_yaml_1_1, tosca_simple_yaml_1_2, tosca_simple_yaml_1_3, tosca_2_0"
