package tosca

import (
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// evaluator evaluates expressions. Its recursion is bounded by the nesting of the files times the stack of properties.
// It has no state except for the cache and the stack, so the order in which properties are evaluated has no effect.
type evaluator struct {
	*navigator

	sources *loader
	values  map[property]value // of properties that have been evaluated
	stack   []property         // of those that are being evaluated
}

// navigator finds the values, entities and artifacts that functions name.
type navigator struct{ *model }

// property is a property of a node template, or of one of its capabilities. It is the key of the cache. Properties of a
// capability have their own names: port of the node and endpoint.port differ.
type property struct {
	node *template
	// capability is the name of the capability and a dot, or "".
	capability string
	name       string
}

// String returns the property as messages about loops name it, such as shop.endpoint.port.
func (p property) String() string { return p.node.name + "." + p.capability + p.name }

// eval evaluates the expression at p. It returns unknown after an error, which it reports. An absent p is unset. Every
// value costs a step, so a walk that goes through eval is limited.
func (e *evaluator) eval(p fileNode, s scope) value {
	e.step()
	if !p.exists() {
		return value{unset: true}
	}
	c, isCall, literal := e.callIn(p)
	switch {
	case isCall:
		return e.apply(c, s)
	case s.subject != nil && p.text() == "$value":
		return *s.subject
	case p.isScalar():
		return e.scalarValue(p, s.want, s.manifest)
	case p.isList():
		return e.listValue(p, s)
	default:
		return e.mapValue(p, s, literal)
	}
}

// listValue evaluates the elements of a list.
func (e *evaluator) listValue(p fileNode, s scope) value {
	result := value{size: 16}
	list := make([]any, 0, len(p.node.Content))
	s.want = entryOf(s.want)
	for _, element := range p.elements() {
		v := e.eval(element, s)
		list = append(list, v.any)
		e.include(&result, v, p)
	}
	result.any = list
	return result
}

// mapValue evaluates the values of a map. literal replaces the key of a map with one entry; "" keeps it. A key with two
// dollars loses one: {$$ref: x} becomes {$ref: x}. Other keys are never changed.
func (e *evaluator) mapValue(p fileNode, s scope, literal string) value {
	result := value{size: 16}
	entries := p.entries()
	fields := make(map[string]any, len(entries))
	want := s.want
	for _, entry := range entries {
		s.want = e.fieldOf(want, entry.name())
		v := e.eval(entry, s)
		v.size += len(entry.name())
		e.include(&result, v, p)
		name := entry.name()
		if literal != "" { // the only key
			name = literal
		}
		fields[name] = v.any
	}
	result.any = fields
	return result
}

// include adds the size and the marks of a part to a whole. Values are bounded when they are made: parts are shared,
// and a copy of all of them could be without end.
func (e *evaluator) include(whole *value, part value, at fileNode) {
	whole.size += part.size
	whole.secret = whole.secret || part.secret
	whole.unknown = whole.unknown || part.unknown
	if whole.size > maxManifest {
		e.tooLarge(at, "value")
	}
}

// functions maps the names of functions that are no operations to their evaluation. args is the value of the key of a
// call.
var functions map[string]func(e *evaluator, args fileNode, s scope) value

// scope is the context of an expression.
type scope struct {
	// self is the node template that it is in; nil in outputs.
	self *template
	// want is the schema of the value; nil if there is none.
	want *schema
	// manifest is set in a value that becomes a manifest unchanged. Plain words are then read as kubectl reads them.
	manifest bool
	// output is set in outputs.
	output bool
	// subject is what $value means: the value that a validation is about. base decides
	// how it is compared.
	subject *value
	base    basis
}

// apply calls a function. Operations precede functions. The arguments of a function have no schema, and are read as a
// template reads them, also within a manifest.
func (e *evaluator) apply(c call, s scope) value {
	f := functions[c.name]
	of, isOperation := operations[c.name]
	switch {
	case c.name == "value" && s.subject != nil:
		return e.walk(*s.subject, c.args.elements())
	case isOperation:
		return e.operate(c, of, s)
	case f == nil:
		return e.notCalled(c)
	case c.args.isScalar() && !hasShape(c.name, c.args):
		return e.fail(c.args, InvalidFunction, "the function %s needs a list of arguments, not %s%s", c.name, c.args.describe(), dataHint(c))
	}
	s.want, s.manifest = nil, false
	return f(e, c.args, s)
}

// notCalled reports why a function cannot be called.
func (e *evaluator) notCalled(c call) value {
	if e.isDeclared(c.name) {
		return e.fail(c.args, NotSupported, "the function %s is declared in the template, and only an orchestrator could run it", quote("$"+c.name))
	}
	return e.fail(c.args, UnknownFunction, "there is no function %s%s (if it is a key, write $$%s)", quote("$"+c.name), e.didYouMean("$"+c.name, dollarNames()), c.name)
}

// operate calls a function whose result depends only on its arguments. It counts the work before the call, because an
// operation cannot be interrupted.
func (e *evaluator) operate(c call, of operation, s scope) value {
	s.want, s.manifest = nil, false
	operands := c.args.elements()
	if !c.args.isList() {
		operands = []fileNode{c.args}
	}
	if len(operands) < of.least || (of.most > 0 && len(operands) > of.most) {
		return e.fail(c.args, InvalidFunction, "%s takes %s", quote("$"+c.name), of.countText())
	}
	result := value{size: 16}
	args := make([]any, len(operands))
	for i, p := range operands {
		v := e.eval(p, s)
		args[i] = v.any
		e.include(&result, v, p)
		e.spend(v.size / textPerStep)
	}
	// The operation would report a wrong type for a value that is only not known yet.
	if result.unknown {
		return result
	}
	if slices.Contains(pairwise, c.name) {
		e.spend(comparisons(args) / comparisonsPerStep)
	}
	var problem string
	if result.any, problem = of.apply(args, s.base); problem != "" {
		return e.fail(c.args, InvalidFunction, "%s %s", quote("$"+c.name), problem)
	}
	return result
}

// pairwise are the operations that search each entry of one argument in another. Their work is the product of the
// sizes.
var pairwise = words("contains has_all_entries has_any_entry union intersection")

// comparisonsPerStep is how many values can be compared in the time of a step.
const comparisonsPerStep = 200

// comparisons returns how many values a pairwise operation may compare. It is the number of entries times their total
// size, because each comparison may walk through both values.
func comparisons(args []any) int {
	entries, size := 0, 0
	for _, arg := range args {
		switch content := arg.(type) {
		case []any:
			entries += len(content)
		case map[string]any:
			entries += len(content)
		default:
			continue
		}
		size += sizeOf(arg)
	}
	const one = 16 // the size of a small value
	return entries * size / one
}

// countText describes the number of arguments for a message.
func (of operation) countText() string {
	switch of.most {
	case 0:
		return fmt.Sprintf("%d arguments or more", of.least)
	case 1:
		return "one argument"
	default:
		return fmt.Sprintf("%d arguments", of.most)
	}
}

// walk follows keys of maps and indexes of lists into a value. A key with a sensitive name makes the result secret. The
// value at the end keeps the marks of the whole. An index is counted from 0 and is written as a number.
func (e *navigator) walk(v value, steps []fileNode) value {
	for _, step := range steps {
		e.step()
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
			return e.fail(step, UnknownProperty, "there is no %s in the value", quote(step.text()))
		}
		v.any, v.size = below, sizeOf(below)
		v.secret = v.secret || IsSensitive(step.text())
	}
	return v
}

// notSupported reports a function that is known and not supported.
func notSupported(e *evaluator, args fileNode, _ scope) value {
	return e.fail(args, NotSupported, "the function %s is not supported", strings.TrimPrefix(args.name(), "$"))
}

// notAvailable reports a function that needs a running deployment. In an output, this is no error: the output is
// Unavailable.
func notAvailable(e *evaluator, args fileNode, s scope) value {
	if !s.output {
		e.faults.add(args, NotAvailable, "needs a running deployment; not available when manifests are rendered")
	}
	return unknown
}
