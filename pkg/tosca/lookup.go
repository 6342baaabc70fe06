package tosca

import (
	"slices"
	"strings"
)

// lookup returns the type with a name in f: declared in f, imported, or built in. It returns nil if there is none. It
// looks for the exact name, with the prefix of an import or without. Types of the profile are also found without their
// namespace: Compute is tosca.nodes.Compute.
func (f *file) lookup(kind kind, name string) *definition {
	if found := f.declared(kind, name, map[lookup]bool{}); found != nil {
		return found
	}
	if f.profile {
		return nil
	}
	// A type of the template takes precedence over a built-in type of the same name.
	return builtIn().definition(kind, name)
}

// definition returns a type that the file declares. In a profile, the namespace of the name can be missing.
func (f *file) definition(kind kind, name string) *definition {
	found := f.types[kind][name]
	if found != nil || !f.profile {
		return found
	}
	short := strings.TrimPrefix(name, "tosca:")
	for _, namespace := range kindTable[kind].namespaces {
		if found := f.types[kind][namespace+short]; found != nil {
			return found
		}
	}
	return nil
}

// lookup is a search for a name in a file. Searches are recorded, because files can import each other in
// loops, and under several prefixes.
type lookup struct {
	file *file
	name string
}

// declared returns the type that f or a file that it imports declares. seen prevents endless searches. The first import
// that defines the name decides, so a later import cannot replace a type. The search takes linear time in the number of
// imports.
func (f *file) declared(kind kind, name string, seen map[lookup]bool) *definition {
	if seen[lookup{f, name}] {
		return nil
	}
	seen[lookup{f, name}] = true
	if found := f.definition(kind, name); found != nil {
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

// strip removes the namespace of an import from a name: prefix:Type, or prefix.Type as tosca-parser writes it. It
// returns false for a name without the prefix: types of an import with a namespace are only known by the full name.
func (e edge) strip(name string) (string, bool) {
	if e.prefix == "" {
		return name, true
	}
	if rest, ok := strings.CutPrefix(name, e.prefix+":"); ok {
		return rest, true
	}
	return strings.CutPrefix(name, e.prefix+".")
}

// minimalAnywhere reports whether only the names of types are known of an import of f, or of a file that f
// imports.
func (f *file) minimalAnywhere(seen map[*file]bool) bool {
	if f.minimal || seen[f] {
		return f.minimal
	}
	seen[f] = true
	return slices.ContainsFunc(f.imports, func(e edge) bool { return e.file.minimalAnywhere(seen) })
}

// typeNames returns the names of the types that a file can use, for suggestions.
func (f *file) typeNames(kind kind) []string {
	var names []string
	seen := map[*file]bool{}
	f.addNames(kind, "", &names, seen)
	builtIn().addNames(kind, "", &names, seen)
	return names
}

// addNames appends the names of the types in f and its imports, with the prefixes of the imports. A file that is
// imported twice contributes its names once, with the first prefix. The order is random: suggest sorts the names.
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
