package tosca

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/manifest"
)

// function evaluates a call. args is the value of its key.
type function func(e *evaluator, args place, s scope) value

// functions are those that can be called.
var functions map[string]function

func init() { // the functions evaluate their arguments, which call functions
	functions = map[string]function{
		"concat": concat, "join": joined, "token": token,
		"get_input": getInput, "get_property": getProperty, "get_attribute": getAttribute,
		"get_artifact":         getArtifact,
		"get_operation_output": notAvailable, "get_nodes_of_type": notAvailable,
	}
}

// functionOf finds a function; nil if there is none. In TOSCA 1.x, matches is none.
func functionOf(name string) function {
	if name == "matches" {
		return matching
	}
	return functions[name]
}

// unsupported are the other functions of TOSCA 2.0.
var unsupported = words(`node_index relationship_index available_allocation`)

// scope is where an expression is.
type scope struct {
	// self is the node template that it is in; nil in outputs.
	self *template
	// want is the schema of the value; nil if there is none.
	want *schema
	// manifest is set in what becomes a manifest as it is.
	manifest bool
	// output is set in outputs.
	output bool
	// subject is what $value means: the value that a validation is about. base says
	// how it is compared.
	subject *value
	base    basis
}

// call is a function and its arguments.
type call struct {
	name string
	args place
}

// callIn reports whether a value is a call. literal is the key that it has if it
// is none but looks like one: $$name means $name. A map that the author has tagged
// with !!map is data.
func (e *evaluator) callIn(p place) (c call, ok bool, literal string) {
	entry, single := p.only()
	if !single || p.isTagged() {
		return call{}, false, ""
	}
	name := entry.name()
	if p.file.version.dollar() {
		if functions[name] != nil && hasShape(name, entry) {
			e.warn(entry, "is no call: in TOSCA 2.0 functions begin with $, as in $%s; !!map before the map says that it is data", name)
		}
		return dollarCall(entry, name)
	}
	if functions[name] != nil {
		return call{name, entry}, true, ""
	}
	if near := nearestFunction(name); near != "" && hasShape(near, entry) {
		e.warn(entry, "is left as it is, because no function has that name: did you mean %s? If it is data, write !!map before the map", near)
	}
	return call{}, false, ""
}

// dollarCall is a call as TOSCA 2.0 writes it.
func dollarCall(entry place, name string) (c call, ok bool, literal string) {
	bare, dollar := strings.CutPrefix(name, "$")
	switch {
	case !dollar:
		return call{}, false, ""
	case strings.HasPrefix(bare, "$"):
		return call{}, false, bare
	default:
		return call{bare, entry}, true, ""
	}
}

// nearestFunction is the function that a name was probably meant to be: one or, in
// a long name, two letters are different.
func nearestFunction(name string) string {
	for _, function := range keysOf(functions) {
		most := 1 + len(function)/8
		if abs(len(function)-len(name)) <= most && suggest.Distance(strings.ToLower(name), function) <= most {
			return function
		}
	}
	return ""
}

func abs(n int) int { return max(n, -n) }

// hasShape reports whether arguments have the form that a function wants.
func hasShape(name string, args place) bool {
	return args.isList() || (args.isScalar() && (name == "get_input" || name == "get_nodes_of_type"))
}

// apply calls a function.
func (e *evaluator) apply(c call, s scope) value {
	f := functionOf(c.name)
	of, isOperation := operations[c.name]
	switch {
	case c.name == "value" && s.subject != nil:
		return e.walk(*s.subject, c.args.elements())
	case isOperation:
		return e.operate(c, of, s)
	case f == nil && e.later && (e.isDeclared(c) || slices.Contains(unsupported, c.name)):
		return unknown
	case f == nil && e.isDeclared(c):
		e.faults.add(c.args, NotSupported, "the function %s is declared in the template, and only an orchestrator could run it", shown("$"+c.name))
		return unknown
	case f == nil && slices.Contains(unsupported, c.name):
		e.faults.add(c.args, NotSupported, "the function %s is not supported", c.name)
		return unknown
	case f == nil:
		e.faults.add(c.args, UnknownFunction, "there is no function %s%s (if it is a key, write $$%s)", shown("$"+c.name), e.didYouMean("$"+c.name, dollarNames()), c.name)
		return unknown
	case c.args.isScalar() && !hasShape(c.name, c.args):
		e.faults.add(c.args, InvalidFunction, "the function %s needs a list of arguments, not %s%s", c.name, c.args.describe(), dataHint(c))
		return unknown
	}
	s.want, s.manifest = nil, false
	return f(e, c.args, s)
}

// isDeclared reports whether a function is one of the template's own.
func (t *translator) isDeclared(c call) bool {
	name := c.name[strings.LastIndex(c.name, ":")+1:] // without the namespace of an import
	return slices.ContainsFunc(t.files, func(f *file) bool { return f.root.get("functions").get(name).exists() })
}

// operate calls a function whose result depends on its arguments only.
func (e *evaluator) operate(c call, of operation, s scope) value {
	s.want, s.manifest = nil, false
	places := c.args.elements()
	if !c.args.isList() {
		places = []place{c.args}
	}
	if len(places) < of.least || of.most > 0 && len(places) > of.most {
		e.faults.add(c.args, InvalidFunction, "%s takes %s", shown("$"+c.name), of.countText())
		return unknown
	}
	made := value{size: 16}
	args := make([]any, len(places))
	for i, p := range places {
		v := e.eval(p, s)
		args[i] = v.any
		e.include(&made, v, p)
		e.spend(e.ctx, v.size/textPerStep)
	}
	if made.unknown {
		return made
	}
	var problem string
	if made.any, problem = of.apply(args, s.base); problem != "" {
		e.faults.add(c.args, InvalidFunction, "%s %s", shown("$"+c.name), problem)
		return unknown
	}
	return made
}

func (of operation) countText() string {
	switch {
	case of.most == 0:
		return fmt.Sprintf("%d arguments or more", of.least)
	case of.most == 1:
		return "one argument"
	default:
		return fmt.Sprintf("%d arguments", of.most)
	}
}

// dataHint says how a map that looks like a call is written.
func dataHint(c call) string {
	if c.args.file.version.dollar() {
		return fmt.Sprintf(" (if it is a key, write $$%s)", c.name)
	}
	return " (if it is data and no call, write !!map before the map)"
}

func dollarNames() []string {
	names := append(keysOf(functions), keysOf(operations)...)
	for i, name := range names {
		names[i] = "$" + name
	}
	return names
}

// getInput is get_input: name, or [name, key or index…].
func getInput(e *evaluator, args place, _ scope) value {
	name, rest := args, []place(nil)
	if args.isList() {
		elements := args.elements()
		if len(elements) == 0 {
			e.faults.add(args, InvalidFunction, "get_input needs the name of an input")
			return unknown
		}
		name, rest = elements[0], elements[1:]
	}
	if !name.isScalar() || name.isNull() {
		e.faults.add(name, InvalidFunction, "get_input needs the name of an input, not %s", name.describe())
		return unknown
	}
	in := e.inputs[name.text()]
	if in == nil {
		e.faults.add(e.pointed(args), UnknownInput, "unknown input %s%s", shown(name.text()), e.declared(name.text()))
		return unknown
	}
	return e.walk(e.input(in, args), rest)
}

// pointed is the call itself: the place above its arguments.
func (e *evaluator) pointed(args place) place {
	if args.path != nil && args.path.up != nil {
		args.path = args.path.up
	}
	return args
}

func notAvailable(e *evaluator, args place, s scope) value {
	if !s.output && !e.later {
		e.faults.add(args, NotAvailable, "needs a running deployment; not available when manifests are rendered")
	}
	return unknown
}

// walk goes into a value: keys of maps, indexes of lists.
func (e *evaluator) walk(v value, steps []place) value {
	for _, step := range steps {
		e.step(e.ctx)
		if v.unknown {
			return v
		}
		var below any
		var there bool
		switch content := v.any.(type) {
		case map[string]any:
			below, there = content[step.text()]
		case []any:
			var index any
			if step.isScalar() {
				index, _ = manifest.Scalar(step.node, false)
			}
			if i, isInteger := index.(int64); isInteger && i >= 0 && i < int64(len(content)) {
				below, there = content[i], true
			}
		}
		if !there {
			e.faults.add(step, UnknownProperty, "there is no %s in the value", shown(step.text()))
			return unknown
		}
		v.any, v.size = below, sizeOf(below)
		v.secret = v.secret || IsSensitive(step.text())
	}
	return v
}
