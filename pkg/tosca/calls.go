package tosca

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
)

// hasCall reports whether there is a call of a function in a value.
func hasCall(p fileNode) bool {
	if only, single := p.only(); single && strings.HasPrefix(only.name(), "$") {
		return true
	}
	return strings.HasPrefix(p.text(), "$") || slices.ContainsFunc(append(p.elements(), p.entries()...), hasCall)
}

// since is the first major version of TOSCA that has a function. Names of TOSCA 1.x are also functions in TOSCA 2.0,
// with a dollar. The names of operations are only in operations.
var since = map[string]int{
	"concat": 1, "join": 1, "token": 1, "get_input": 1, "get_property": 1, "get_attribute": 1,
	"get_artifact": 1, "get_operation_output": 1, "get_nodes_of_type": 1,
	"matches": 2, "node_index": 2, "relationship_index": 2, "available_allocation": 2,
}

// isFunction reports whether TOSCA 1.x has a function; TOSCA 2.0 has it, too.
func isFunction(name string) bool { return since[name] == 1 }

// call is a function and its arguments.
type call struct {
	name string
	// args is the value of the only key of the call, with the key as its name.
	args fileNode
}

// callIn reports whether a value is a call of a function, and returns the call. literal is the key of a map that only
// looks like a call: $$name means $name. It is "" for other values. A map that the author has tagged with !!map is
// data.
//
//	map                       TOSCA 1.x              TOSCA 2.0
//	{concat: [a, b]}          a call                 data, with a warning
//	{$concat: [a, b]}         data, with a warning   a call
//	{$$concat: [a, b]}        data                   data, with the key $concat
//	!!map {concat: [a, b]}    data                   data
//	{concat: [a], b: 1}       data                   data: a call has one key
//	{conca: [a, b]}           data, with a warning   data
func (t *session) callIn(p fileNode) (c call, ok bool, literal string) {
	entry, single := p.only()
	if !single || p.isTagged() {
		return call{}, false, ""
	}
	name := entry.name()
	if p.file.version.dollar() {
		bare, dollar := strings.CutPrefix(name, "$")
		switch {
		case strings.HasPrefix(name, "$$"):
			return call{}, false, bare
		case dollar:
			return call{bare, entry}, true, ""
		case isFunction(name) && hasShape(name, entry):
			t.warn(entry, "is not a call: in TOSCA 2.0 functions begin with $, as in $%s; if it is data, write !!map before the map", name)
		}
		return call{}, false, ""
	}
	if isFunction(name) {
		return call{name, entry}, true, ""
	}
	if near := nearestFunction(name); near != "" && hasShape(near, entry) {
		t.warn(entry, "is not changed, because no function has that name: did you mean %s? If it is data, write !!map before the map", near)
	}
	return call{}, false, ""
}

// nearestFunction returns the function whose name was probably mistyped, or "". It accepts one difference, or two in a
// long name. A name that a function really has must not be passed. The names are sorted, so the result is always the
// same.
func nearestFunction(name string) string {
	for _, known := range keysOf(since) {
		most := 1 + len(known)/8
		if isFunction(known) && len(known)-len(name) <= most && len(name)-len(known) <= most && suggest.Distance(strings.ToLower(name), known) <= most {
			return known
		}
	}
	return ""
}

// hasShape reports whether arguments have the form that a function requires. A manifest may have a key like token or
// join with a value of another form, which is no reason for a warning.
func hasShape(name string, args fileNode) bool {
	return args.isList() || (args.isScalar() && (name == "get_input" || name == "get_nodes_of_type"))
}

// dataHint returns how to write a map that looks like a call, as the end of a message.
func dataHint(c call) string {
	if c.args.file.version.dollar() {
		return fmt.Sprintf(" (if it is a key, write $$%s)", c.name)
	}
	return " (if it is data, write !!map before the map)"
}

// dollarNames returns the names of all functions with a dollar, for suggestions.
func dollarNames() []string {
	return collectNames(slices.Concat(keysOf(since), keysOf(operations)), func(name string) string { return "$" + name })
}
