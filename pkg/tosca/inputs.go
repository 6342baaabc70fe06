package tosca

import (
	"cmp"
	"strings"
)

// readInputs reads the declarations of inputs, but not their values.
func (t *model) readInputs() {
	p := t.entry.topology().get("inputs")
	if t.faults.wantMap(p) {
		for _, entry := range p.entries() {
			t.readInput(entry)
		}
	}
}

// giveInputs assigns the given values to the inputs. A name that the template does not declare is an error. The names
// are sorted, so that the errors do not depend on the order of the map. An input that is not declared would have no
// effect, and is most often misspelt. It must be called before the inputs are evaluated.
func (t *model) giveInputs(given map[string]Input) {
	// A template without the key inputs has no position for it, so the message points to the root.
	root := t.entry.root
	root.path = &trail{key: "inputs"}
	at := cmp.Or(t.entry.topology().get("inputs"), root)
	for _, name := range keysOf(given) {
		if in := t.inputs[name]; in != nil {
			value := given[name]
			in.given = &value
			continue
		}
		t.faults.add(at, UnknownInput, "unknown input %s%s", quote(name), t.declared(name))
	}
}

// readInput reads one declaration. A mistake in the type of an input always counts. Its default and constraints are
// evaluated later, because they can refer to nodes and other inputs. Without a known type, the value is accepted as it
// is.
func (t *model) readInput(p fileNode) {
	if !p.isMap() {
		t.faults.add(p, InvalidShape, "must be a map with a type, not %s", p.describe())
		return
	}
	t.known(p, parameterKeys)
	in := &input{schema: t.readSchema(p, false), name: p.name()}
	t.needSchema(in.schema)
	if t.baseOf(in.schema) == "" {
		in.typeName = "" // that it is not known was reported
	}
	t.inputs[in.name] = in
	t.inputNames = append(t.inputNames, in.name)
}

// declared returns the end of a message about an unknown input: the nearest name, or all names. It lists at most ten
// names. Names are not secret, also if their values are.
func (t *model) declared(name string) string {
	if near := t.didYouMean(name, t.inputNames); near != "" {
		return near
	}
	if len(t.inputNames) == 0 {
		return ": the template declares no inputs"
	}
	const most = 10
	names := t.inputNames
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return " (declared: " + strings.Join(names, ", ") + more + ")"
}
