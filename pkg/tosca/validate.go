package tosca

import (
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// validator checks all that a template says, also what has no effect on manifests:
// the sections of its files, the types of every kind, and what is assigned to their
// templates. What TOSCA 1.x leaves open, or its users write in their own ways, is
// checked in TOSCA 2.0 only.
type validator struct {
	*evaluator
}

// strict reports whether a value is in a file of TOSCA 2.0.
func strict(p fileNode) bool { return p.file.version.dollar() }

// sectionKeys are the sections of a file, and of its topology, that are maps.
var (
	fileMaps     = append(keysOf(sections), words(`dsl_definitions repositories topology_template service_template functions`)...)
	topologyMaps = words(`inputs outputs node_templates relationship_templates groups workflows substitution_mappings`)
)

// validateFiles checks the shape of the sections of all files.
func (t *session) validateFiles(files []*file, entry *file) {
	for _, f := range files {
		t.validateFile(f, f == entry)
	}
}

func (t *session) validateFile(f *file, isEntry bool) {
	for _, name := range fileMaps {
		t.section(f.root.get(name), "a map", fileNode.isMap)
	}
	t.section(f.root.get("imports"), "a list", fileNode.isList)
	t.described(f.root)
	for name := range sections {
		t.validateNames(f.root.get(name))
	}
	t.validateNames(f.root.get("functions"))
	if version := f.root.get(versionKey); version.exists() && strict(version) && target(f.root.node.Content[0]).Value != versionKey {
		t.faults.add(version, InvalidShape, "must be the first key of the file in TOSCA 2.0")
	}
	if profile := f.root.get("profile"); profile.exists() && f.root.get("service_template").exists() && isEntry {
		t.faults.add(profile, InvalidShape, "a file with a service_template is no profile: keep one of them")
	}
	t.validateRepositories(f)
	topology := f.topology()
	for _, name := range topologyMaps {
		t.section(topology.get(name), "a map", fileNode.isMap)
	}
	t.section(topology.get("policies"), "a list or a map", func(p fileNode) bool { return p.isList() || p.isMap() })
	t.described(topology)
	if nodes := topology.get("node_templates"); topology.exists() && strict(f.root) && !nodes.exists() {
		t.faults.add(topology, MissingRequiredKeyname, "node_templates is missing")
	}
}

// section checks what is in a section. An empty one is a mistake in TOSCA 2.0.
func (t *session) section(p fileNode, want string, is func(fileNode) bool) {
	switch {
	case !p.exists() || is(p):
	case !p.isNull():
		t.faults.add(p, InvalidShape, "must be %s, not %s", want, p.describe())
	case strict(p):
		t.faults.add(p, InvalidShape, "must be %s, and is empty: fill it, or leave it out", want)
	}
}

// described checks the description and metadata that anything may have.
func (t *session) described(p fileNode) {
	description, metadata := p.get("description"), p.get("metadata")
	if description.exists() && !description.isText() && !description.isNull() && (strict(p) || !description.isScalar()) {
		t.faults.add(description, InvalidShape, "must be text, not %s", description.describe())
	}
	if !metadata.exists() || !strict(p) {
		return
	}
	t.section(metadata, "a map", fileNode.isMap)
	for _, entry := range metadata.entries() {
		if name := entry.name(); entry.isNull() || (name == "template_name" || name == "template_author") && entry.isScalar() && !entry.isText() {
			t.faults.add(entry, InvalidShape, "must be text, not %s", entry.describe())
		}
	}
}

// validateNames refuses names that are no text.
func (t *session) validateNames(p fileNode) {
	for _, entry := range p.entries() {
		key := target(entry.at)
		switch {
		case entry.name() == "":
			t.faults.add(entry, InvalidShape, "a name must not be empty")
		case strict(entry) && key.ShortTag() != manifest.TagStr && key.Style == 0:
			t.faults.add(entry, InvalidShape, "a name must be text: put it in quotes")
		}
	}
}

func (t *session) validateRepositories(f *file) {
	for _, entry := range f.root.get("repositories").entries() {
		for _, imported := range f.imports {
			if imported.prefix == "" && strict(f.root) && imported.file.root.get("repositories").get(entry.name()).exists() {
				t.faults.add(entry, DuplicateKey, "%s declares a repository of this name, too", bare(imported.file.name))
			}
		}
		switch {
		case entry.isScalar() && !entry.isNull():
		case !entry.isMap():
			t.faults.add(entry, InvalidShape, "must be a URL, or a map with one, not %s", entry.describe())
		case !entry.get("url").isScalar() || entry.get("url").text() == "":
			t.faults.add(entry, MissingRequiredKeyname, "url is missing")
		default:
			t.described(entry)
			t.known(entry, words(`url description metadata type credential`))
		}
	}
}

// typeNamed finds a type that something refers to, and refuses the name of one that
// there is not. p is where the name is.
func (v validator) typeNamed(p fileNode, kind kind) *definition {
	if !p.exists() || p.isNull() {
		return nil
	}
	name, ok := v.wantText(p)
	if !ok {
		return nil
	}
	d := p.file.lookup(kind, name)
	if d == nil {
		d = v.opaqueType(p.file, kind, name)
	}
	if d == nil && strict(p) && !v.mayBeNormative(p.file) {
		v.faults.add(p, InvalidType, "the %s %s is not known%s", kind, shown(name), v.notImported(p.file, kind, name))
	}
	return d
}

// mayBeNormative reports whether a name may be that of a type of a profile of which
// not all is built in.
func (v validator) mayBeNormative(f *file) bool {
	return f.minimalAnywhere(map[*file]bool{}) || v.entry.minimalAnywhere(map[*file]bool{})
}

// typesNamed checks a list of the names of types, which may be of several kinds.
func (v validator) typesNamed(p fileNode, of ...kind) {
	if !v.wantList(p) || !strict(p) {
		return
	}
	for _, element := range p.elements() {
		name, ok := v.wantText(element)
		if ok && !slices.ContainsFunc(of, func(k kind) bool {
			return p.file.lookup(k, name) != nil || v.opaqueType(p.file, k, name) != nil
		}) && !v.mayBeNormative(p.file) {
			v.faults.add(element, InvalidType, "the %s %s is not known%s", of[0], shown(name), v.notImported(p.file, of[0], name))
		}
	}
}

// isOpen reports whether a type may have more than is known of it. An import of which
// only the names are known may declare normative types anew.
func (v validator) isOpen(line []*definition) bool {
	last := line[len(line)-1]
	return isOpaque(line) || isKubernetes(line) || (last.parent != "" && !isPrimitive(last.parent)) ||
		(v.mayBeNormative(v.entry) && slices.ContainsFunc(line[:len(line)-1], func(d *definition) bool { return d.at.file.profile }))
}

// namesIn are the keys that the types of a line have in a section.
func namesIn(line []*definition, section string) []string {
	var names []string
	for _, d := range line {
		names = append(names, d.at.get(section).names()...)
	}
	return names
}
