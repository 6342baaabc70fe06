package tosca

import (
	"iter"
	"slices"
	"strings"
)

// readAllTypes reads and checks the types of every file. It collects the mistakes in the definitions, because it is
// not known yet which of them a manifest needs:
//
//	mistake in                                           reported as
//	a file, an import, an input                          error
//	a type that a Kubernetes node needs (need)           error
//	any other type (demoteUnneeded)                      warning
//	a Kubernetes node (judge)                            error
//	any other node                                       warning
//	a default of an input that no manifest needs         warning
//	an output                                            warning
func (t *library) readAllTypes() {
	for _, f := range t.files {
		t.known(f.root, fileKeys)
		t.readTypes(f)
	}
	for d := range t.declared() {
		d.mistakes = t.collect(func() { t.checkType(d) })
	}
}

// declared iterates over the types of every file.
func (t *typeIndex) declared() iter.Seq[*definition] {
	return func(yield func(*definition) bool) {
		for _, f := range t.files {
			for kind := range f.types {
				for _, name := range keysOf(f.types[kind]) {
					if !yield(f.types[kind][name]) {
						return
					}
				}
			}
		}
	}
}

// need marks types as needed by a manifest, with the data types of their properties, and adds their mistakes to the
// errors. A type is needed by a node of it, by a type that is derived from it, or by a property or an input with values
// of it. Call it for the type with its ancestors.
func (t *library) need(line []*definition) {
	for _, d := range line {
		if t.needed[d] {
			continue
		}
		t.needed[d] = true
		t.step()
		for _, mistake := range d.mistakes {
			if t.isNeeded(d, mistake) {
				t.faults.addAll(mistake)
			}
		}
		for _, name := range keysOf(d.properties) {
			t.needSchema(d.properties[name])
		}
	}
}

// needSchema marks the data types of a schema as needed.
func (t *library) needSchema(s *schema) {
	if s == nil {
		return
	}
	t.need(t.dataLine(s.at.file, s.typeName))
	t.needSchema(s.entry)
	t.needSchema(s.key)
}

// isNeeded reports whether a mistake in a type counts: a manifest needs the type. A field whose type is not known is a
// mistake where it has a value. Templates often import a profile of which they use a few types, and the others refer to
// types that do not exist.
func (t *library) isNeeded(d *definition, mistake *Error) bool {
	return t.needed[d] && (d.kind != dataTypes || mistake.Code != UnknownDataType)
}

// demoteUnneeded adds the mistakes that do not count as warnings.
func (t *library) demoteUnneeded() {
	for d := range t.declared() {
		t.demote(slices.DeleteFunc(slices.Clone(d.mistakes), func(mistake *Error) bool { return t.isNeeded(d, mistake) }))
	}
}

// checkType reads the properties of a node or data type, and reports mistakes in the definition. Other types have no
// effect on manifests, so they are not checked. Requirements, capabilities and interfaces of a type are not checked,
// because they are only looked up by name.
func (t *library) checkType(d *definition) {
	if d.kind != nodeTypes && d.kind != dataTypes {
		return // it makes no manifest
	}
	if parent := d.at.get("derived_from"); parent.exists() && !parent.isNull() {
		t.faults.wantText(parent)
	}
	keys := typeKeys
	if d.kind == dataTypes {
		keys = dataKeys
	}
	t.known(d.at, keys)
	d.properties = t.readSchemas(d.at.get("properties"))
	t.lineage(d, true)
}

// readTypes records the types that a file declares, without checking them.
func (t *library) readTypes(f *file) {
	for kind := range kinds {
		p := f.root.get(kindTable[kind].section)
		if !t.faults.wantMap(p) {
			continue
		}
		for _, entry := range p.entries() {
			t.readType(f, kind, entry)
		}
	}
}

// readType records one type. An invalid definition is reported and not recorded. A later type of the same name in one
// file is a duplicate key, about which the guard decides. In the built-in profile, names are written without their
// namespace.
func (t *library) readType(f *file, kind kind, p fileNode) {
	if !p.isMap() && !p.isNull() {
		t.faults.add(p, InvalidShape, "must be a map, not %s", p.describe())
		return
	}
	d := &definition{name: p.name(), kind: kind, at: p}
	if f.profile {
		d.name = kindTable[kind].namespaces[0] + d.name
	}
	if parent := p.get("derived_from"); parent.exists() && !parent.isNull() {
		d.parent = parent.text()
	}
	if meant := meantKind(d); meant != kind {
		t.warn(p, "a %s belongs in %s", meant, kindTable[meant].section)
		d.kind = meant
	}
	if f.types[d.kind] == nil {
		f.types[d.kind] = map[string]*definition{}
	}
	f.types[d.kind][d.name] = d
}

// meantKind returns the kind of a type that is declared as a node or data type: old templates declare any type there.
// The parent or the own name determines the kind. For example, a type in node_types with derived_from:
// tosca.capabilities.Root is a capability type. Its own kind remains if the parent is not a normative type.
func meantKind(d *definition) kind {
	if d.kind != nodeTypes && d.kind != dataTypes {
		return d.kind
	}
	if d.name == KubernetesObject {
		return nodeTypes
	}
	for meant := range kinds {
		if strings.HasPrefix(d.parent, kindTable[meant].namespaces[0]) {
			return meant
		}
	}
	return d.kind
}
