package tosca

import (
	"cmp"
	"slices"
	"strings"
)

// library contains the types of all files, with the inherited properties. The maps are caches. A library belongs to one
// translation, except for the one of the built-in profile.
type library struct {
	*typeIndex

	needed  map[*definition]bool               // by a manifest
	schemas map[*definition]map[string]*schema // with the inherited ones
}

// typeIndex finds types by their names, and the types that they are derived from. Types of one name can differ between
// files, because each file has its own imports. So a name is always looked up in the file that contains it.
type typeIndex struct {
	*session

	files []*file
	entry *file
	lines map[*definition][]*definition // that lineage returned
}

// newLibrary returns a library of the types that files declare. readAllTypes fills it.
func newLibrary(s *session, files []*file, entry *file) *library {
	index := &typeIndex{s, files, entry, map[*definition][]*definition{}}
	return &library{typeIndex: index, needed: map[*definition]bool{}, schemas: map[*definition]map[string]*schema{}}
}

// lineage returns a type and the types that it is derived from, nearest first; nil for nil. It ends at an unknown name
// and before a loop, and reports this if tell is set. The result must not be changed. With acme.Web derived from
// acme.Base, and that from tosca.nodes.Root, the result is [acme.Web acme.Base tosca.nodes.Root]. The result is cached
// for its first type.
func (t *typeIndex) lineage(d *definition, tell bool) []*definition {
	if d == nil {
		return nil
	}
	if known := t.lines[d]; known != nil && !tell {
		return known
	}
	line := []*definition{d}
	fault := func(code Code, format string, args ...any) {
		if tell {
			t.faults.add(d.at.get("derived_from"), code, format, args...)
		}
	}
	for d.parent != "" {
		parent := t.find(d.at.file, d.kind, d.parent)
		if parent == nil {
			if tell && !isPrimitive(d.parent) {
				fault(InvalidType, "the type %s is not known%s", quote(d.parent), t.notImported(d.at.file, d.kind, d.parent))
			}
			break
		}
		if slices.Contains(line, parent) {
			fault(InvalidType, "types are derived from each other in a loop: %s", loopOf(line, parent))
			break
		}
		if len(line) == maxNesting {
			fault(LimitExceeded, "the type is derived more than %d levels deep", maxNesting)
			break
		}
		line = append(line, parent)
		d = parent
	}
	if !line[0].opaque { // each is its own
		t.lines[line[0]] = line[:len(line):len(line)]
	}
	return line
}

// loopOf returns the loop that ends with a type, for a message.
func loopOf(line []*definition, to *definition) string {
	names := collectNames(append(slices.Clip(line[slices.Index(line, to):]), to), func(d *definition) string { return d.name })
	return strings.Join(names, " -> ")
}

// opaqueType returns a type of a well-known import that is not built in: it exists, and is not a Kubernetes object. It
// returns nil for other names. The types of network functions need no import. A template can be translated without the
// files of such a profile, as far as its Kubernetes nodes do not need them.
func (t *typeIndex) opaqueType(f *file, kind kind, name string) *definition {
	full := name[strings.LastIndex(name, ":")+1:] // without the prefix of the import
	isNFV := strings.Contains(full, ".nfv.") || strings.HasPrefix(f.version.name, "tosca_simple_profile_for_")
	if !strings.HasPrefix(full, "tosca.") || !isNFV && !f.minimalAnywhere(map[*file]bool{}) {
		return nil
	}
	return &definition{name: name, kind: kind, opaque: true}
}

// find returns the type with a name in f, or an opaque type of that name; nil if it is unknown. A declared type can have
// the name of a built-in one and be derived from it.
func (t *typeIndex) find(f *file, kind kind, name string) *definition {
	if found := f.lookup(kind, name); found != nil {
		return found
	}
	return t.opaqueType(f, kind, name)
}

// notImported returns the end of a message about an unknown type: a similar name, or a question about the import.
func (t *typeIndex) notImported(f *file, kind kind, name string) string {
	if near := t.near(name, func() []string { return f.typeNames(kind) }); near != "" {
		return near
	}
	return ": is the file that declares it not imported?"
}

// isOpaque reports whether only the name is known of a type, or of one that it is derived from.
func isOpaque(line []*definition) bool {
	return slices.ContainsFunc(line, func(d *definition) bool { return d.opaque })
}

// propertiesOf returns the properties of a type with the inherited ones. line is the result of lineage. The map is
// cached and must not be changed; it is nil for no type. A derived type can refine a property: it can add constraints,
// and replace the type and the default.
func (t *library) propertiesOf(line []*definition) map[string]*schema {
	if len(line) == 0 {
		return nil
	}
	if all, known := t.schemas[line[0]]; known {
		return all
	}
	all := map[string]*schema{}
	t.schemas[line[0]] = all
	// The most general type is first, so that each definition refines the inherited one.
	for _, d := range slices.Backward(line) {
		t.spend(len(d.properties))
		for name, own := range d.properties {
			all[name] = own.refining(all[name])
		}
	}
	return all
}

// dataLine returns a data type with the types that it is derived from; nil if it is unknown. f is the file that
// contains the name.
func (t *typeIndex) dataLine(f *file, name string) []*definition {
	return t.lineage(t.find(f, dataTypes, name), false)
}

// isDeclared reports whether a file declares a function of that name.
func (t *typeIndex) isDeclared(name string) bool {
	name = name[strings.LastIndex(name, ":")+1:] // without the namespace of an import
	return slices.ContainsFunc(t.files, func(f *file) bool { return f.root.get("functions").get(name).exists() })
}

// capabilityLine returns the type of a capability that the nearest type of a line declares, or the capability type of
// that name; nil if it is unknown. A node type declares a capability as name: type or as name: {type: …}.
func (t *typeIndex) capabilityLine(line []*definition, name string) []*definition {
	var declared fileNode
	for _, d := range line {
		declared = cmp.Or(declared, d.at.get("capabilities").get(name))
	}
	if declared.isMap() {
		declared = declared.get("type")
	}
	from := t.entry
	if declared.exists() {
		from, name = declared.file, declared.text()
	}
	return t.lineage(from.lookup(capabilityTypes, name), false)
}
