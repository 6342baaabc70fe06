package tosca

import (
	"context"
	"regexp"

	"holdfast.dev/holdfast/pkg/manifest"
)

// evaluator evaluates expressions. Its recursion is bounded by the nesting of the
// files times the stack of properties.
type evaluator struct {
	*translator

	ctx    context.Context
	values map[property]value // of properties that have been evaluated
	stack  []property         // of those that are being evaluated
	// later is set where nothing is rendered any more: what needs a running
	// deployment is no mistake then.
	later bool
}

// property is a property of a node template.
type property struct {
	node *template
	name string
}

// eval evaluates what is written at p.
func (e *evaluator) eval(p place, s scope) value {
	e.step(e.ctx)
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
		return e.scalarValue(p, s)
	case p.isList():
		return e.listValue(p, s)
	default:
		return e.mapValue(p, s, literal)
	}
}

// literal is a value in which nothing is evaluated.
func (e *evaluator) literal(p place) value { return e.literalOf(p, nil) }

// literalOf is a literal as a schema wants it. What it wants of booleans and
// texts decides how plain words are read.
func (e *evaluator) literalOf(p place, want *schema) value {
	if !p.exists() {
		return value{unset: true}
	}
	switch {
	case p.isScalar():
		return e.scalarValue(p, scope{want: want})
	case p.isList():
		list, size, failed := make([]any, 0, len(p.node.Content)), 16, false
		for _, element := range p.elements() {
			v := e.literalOf(element, entryOf(want))
			list, size, failed = append(list, v.any), size+v.size, failed || v.unknown
		}
		return value{any: list, size: size, unknown: failed}
	default:
		fields, size, failed := map[string]any{}, 16, false
		for _, entry := range p.entries() {
			v := e.literalOf(entry, e.fieldOf(want, entry.name()))
			fields[entry.name()], size, failed = v.any, size+v.size+len(entry.name()), failed || v.unknown
		}
		return value{any: fields, size: size, unknown: failed}
	}
}

func (e *evaluator) scalarValue(p place, s scope) value {
	base := ""
	if s.want != nil {
		base = e.baseOf(s.want)
	}
	if base == "version" && !s.manifest && !p.isNull() {
		return value{any: p.text(), size: sizeOf(p.text())}
	}
	content, err := manifest.Scalar(p.node, s.manifest || (base == "boolean" && !p.file.version.dollar()))
	if e.later && base == "float" && floatBeyond.MatchString(p.text()) {
		return unknown // a float of TOSCA that no manifest has
	}
	if err != nil {
		e.faults.add(p, InvalidYAML, "%s", err)
		return unknown
	}
	switch text, isText := content.(string); {
	case !p.file.version.dollar() && isText:
		content = unquoted(text, base)
	case !p.file.version.dollar():
	case base == "boolean" && isOf[bool](content) && p.text() != "true" && p.text() != "false",
		base == "integer" && p.isNumber() && p.node.ShortTag() == tagFloat:
		content = p.text() // TOSCA 1.x takes True and 1.0, and TOSCA 2.0 does not
	}
	return value{any: content, size: sizeOf(content), unset: content == nil}
}

// floatBeyond are infinity, NaN, and numbers that may be too large.
var floatBeyond = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|[-+]?[0-9.]+[eE][-+]?[0-9]{3,})$`)

func (e *evaluator) listValue(p place, s scope) value {
	made := value{size: 16}
	list := make([]any, 0, len(p.node.Content))
	s.want = entryOf(s.want)
	for _, element := range p.elements() {
		v := e.eval(element, s)
		list = append(list, v.any)
		e.include(&made, v, p)
	}
	made.any = list
	return made
}

func (e *evaluator) mapValue(p place, s scope, literal string) value {
	made := value{size: 16}
	entries := p.entries()
	fields := make(map[string]any, len(entries))
	want := s.want
	for _, entry := range entries {
		s.want = e.fieldOf(want, entry.name())
		v := e.eval(entry, s)
		v.size += len(entry.name())
		e.include(&made, v, p)
		name := entry.name()
		if literal != "" { // the only key
			name = literal
		}
		fields[name] = v.any
	}
	made.any = fields
	return made
}

// include counts a part into a whole. Values are bounded when they are made:
// parts are shared, and a copy of all of them could be without end.
func (e *evaluator) include(whole *value, part value, at place) {
	whole.size += part.size
	whole.secret = whole.secret || part.secret
	whole.unknown = whole.unknown || part.unknown
	if whole.size > e.limits.Manifest {
		e.faults.add(at, LimitExceeded, "the value is larger than %d bytes", e.limits.Manifest)
		panic(stop{e.faults.err()})
	}
}

// entryOf is the schema of what is in a list or map.
func entryOf(s *schema) *schema {
	if s == nil {
		return nil
	}
	return s.entry
}

// fieldOf is the schema of a field of a map: of its data type, or of any entry.
func (e *evaluator) fieldOf(s *schema, name string) *schema {
	if s == nil || s.entry != nil || s.typeName == "" || isPrimitive(s.typeName) {
		return entryOf(s)
	}
	d := e.dataType(s.at.file, s.typeName)
	if d == nil {
		return nil
	}
	return e.propertiesOf(e.lineage(d, false))[name]
}

// property evaluates a property of a node template, once.
func (e *evaluator) property(n *template, name string, from place) value {
	key := property{n, name}
	if v, done := e.values[key]; done {
		return v
	}
	e.step(e.ctx)
	if e.loops(key, from) {
		return unknown
	}
	e.stack = append(e.stack, key)
	v := e.assigned(n, name)
	e.stack = e.stack[:len(e.stack)-1]
	e.values[key] = v
	return v
}

// loops tells a property that depends on itself.
func (e *evaluator) loops(key property, from place) bool {
	for i, open := range e.stack {
		if open != key {
			continue
		}
		var names []string
		for _, one := range append(e.stack[i:len(e.stack):len(e.stack)], key) {
			names = append(names, one.node.name+"."+one.name)
		}
		e.faults.add(from, PropertyLoop, "properties depend on each other in a loop: %s", cutLoop(names))
		return true
	}
	if len(e.stack) >= e.limits.Stack {
		e.faults.add(from, LimitExceeded, "properties refer to each other more than %d levels deep", e.limits.Stack)
		return true
	}
	return false
}

// assigned is the assigned value of a property, or the default of its type.
func (e *evaluator) assigned(n *template, name string) value {
	s := n.schemas[name]
	p := n.get("properties").get(name)
	if (!p.exists() || p.isNull()) && s != nil && s.initial.exists() {
		p = s.initial
	}
	if s != nil && s.fixed.exists() {
		if p.exists() && p.node != s.initial.node {
			e.faults.add(p, InvalidType, "the value is fixed by the type %s", n.typeName)
		}
		p = s.fixed
	}
	if !p.exists() {
		return value{unset: true}
	}
	isSpec := name == specKey && n.kubernetes
	v := e.eval(p, scope{self: n, want: s, manifest: isSpec && !p.isScalar()})
	if !isSpec {
		v.secret = v.secret || IsSensitive(name)
		if v = e.completed(v, s, p); !e.check(p, v, s) {
			return unknown
		}
	}
	return v
}

// checkNodes evaluates the properties of every Kubernetes node, so that all
// mistakes are found, also in those that no manifest uses.
func (e *evaluator) checkNodes() {
	for _, n := range e.order {
		if n.kubernetes {
			e.checkProperties(n)
		}
	}
}

func (e *evaluator) checkProperties(n *template) {
	for _, name := range keysOf(n.schemas) {
		if name == specKey && n.kubernetes {
			continue
		}
		s := n.schemas[name]
		v := e.property(n, name, n.at)
		isNull := n.get("properties").get(name).exists() && (s.typeName == "nil" || s.typeName == "null")
		if v.unset && !v.unknown && s.required && !isNull {
			e.faults.add(n.at, MissingProperty, "the required property %s is missing", name)
		}
	}
}
