package tosca

import (
	"maps"
	"slices"
	"strings"
)

// readAllTypes reads and checks the types of every file.
func (t *library) readAllTypes() {
	for _, f := range t.files {
		t.known(f.root, fileKeys)
		t.readTypes(f)
	}
	t.unused = !t.lenient
	defer func() { t.unused = false }()
	for _, f := range t.files {
		for kind := range f.types {
			for _, name := range slices.Sorted(maps.Keys(f.types[kind])) {
				t.checkType(f.types[kind][name])
			}
		}
	}
}

func (t *library) checkType(d *definition) {
	if d.kind != nodeTypes && d.kind != dataTypes {
		return // it makes no manifest: Validate checks it
	}
	if parent := d.at.get("derived_from"); parent.exists() && !parent.isNull() {
		t.wantText(parent)
	}
	t.known(d.at, keysOfKind(d.kind))
	d.properties = t.readSchemas(d.at.get("properties"), false)
	t.lineage(d, true)
	if d.kind == dataTypes {
		t.checkScalar(d)
	}
}

// readTypes notes the types that a file declares.
func (t *library) readTypes(f *file) {
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

func (t *library) readType(f *file, kind kind, p fileNode) {
	if !p.isMap() && !p.isNull() {
		t.faults.add(p, InvalidShape, "must be a map, not %s", p.describe())
		return
	}
	d := &definition{name: p.name(), kind: kind, at: p}
	if f.profile {
		d.name = shortNames[kind][0] + d.name
	}
	if parent := p.get("derived_from"); parent.exists() && !parent.isNull() {
		d.parent = parent.text()
	}
	if meant := meantKind(d); meant != kind {
		t.warn(p, "a %s belongs into %s", meant, sectionOf(meant))
		d.kind = meant
	}
	d.kubernetes = d.kind == nodeTypes && (d.name == KubernetesObject || d.name == Alias)
	if f.types[d.kind] == nil {
		f.types[d.kind] = map[string]*definition{}
	}
	f.types[d.kind][d.name] = d
}

// meantKind is the kind of a type that is declared as a node or data type: old
// templates declare any type there. Its parent, or its own name, tells.
func meantKind(d *definition) kind {
	if d.kind != nodeTypes && d.kind != dataTypes {
		return d.kind
	}
	for meant := range kinds {
		if namespace := shortNames[meant][0]; strings.HasPrefix(d.parent, namespace) || (d.name == KubernetesObject && meant == nodeTypes) {
			return meant
		}
	}
	return d.kind
}

func sectionOf(of kind) string {
	for section, kind := range sections {
		if kind == of {
			return section
		}
	}
	return ""
}
