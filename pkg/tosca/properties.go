package tosca

import "slices"

// check reports whether a value agrees with its schema, and reports the mistakes at a position. Unknown and unset
// values, and values without a schema, always agree. It is called for every value that a schema describes: inputs, and
// properties of nodes. An unknown value has been reported where it became unknown, and a second message would only
// follow from it.
func (e *evaluator) check(at fileNode, v value, s *schema) bool {
	if v.unknown || s == nil || v.unset {
		return true
	}
	secret := v.secret || IsSensitive(at.name())
	return checker{evaluator: e, secret: secret, hidesKeys: secret, at: at}.value(v.any, s, "", 0)
}

// property evaluates a property of a node template, once. from is the position of the reference. After an error, the
// result is unknown. The value is cached, so that many references to a large property take little time, and share it.
func (e *evaluator) property(n *template, name string, from fileNode) value {
	return e.propertyValue(property{node: n, name: name}, from, func() value { return e.assigned(n, name) })
}

// propertyValue evaluates a property, unless that was done before. It reports a loop if that is being done.
func (e *evaluator) propertyValue(key property, from fileNode, evaluate func() value) value {
	if v, done := e.values[key]; done {
		return v
	}
	e.step()
	if e.loops(key, from) {
		return unknown
	}
	e.stack = append(e.stack, key)
	v := evaluate()
	e.stack = e.stack[:len(e.stack)-1]
	// The result is also recorded after an error, so that the error is reported once.
	e.values[key] = v
	return v
}

// loops reports a property that depends on itself, and references that are nested too deeply. A loop is reported with
// all properties in it: a.x -> b.y -> a.x. The stack is limited, because each level takes several frames of Go's stack.
func (e *evaluator) loops(key property, from fileNode) bool {
	for i, open := range e.stack {
		if open != key {
			continue
		}
		names := collectNames(append(slices.Clip(e.stack[i:]), key), property.String)
		e.faults.add(from, PropertyLoop, "properties depend on each other in a loop: %s", cutLoop(names))
		return true
	}
	if len(e.stack) >= maxStack {
		e.faults.add(from, LimitExceeded, "properties refer to each other more than %d levels deep", maxStack)
		return true
	}
	return false
}

// assigned returns the assigned value of a property, the default of its type, or the value that the type fixes. The
// manifest of a Kubernetes node is not checked against a schema. In order of precedence:
//
//	the type fixes the value (TOSCA 2.0)    the fixed value; an assignment is an error
//	the template assigns it                 the assigned value
//	the type has a default                  the default; a null in the template counts as no assignment
//	otherwise                               unset
//
// A default can contain calls, which see the node as SELF.
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

// checkProperties evaluates the properties of one node. A required property without a value is an error. It evaluates
// also those that no manifest uses: a mistake in them is one in the template. The spec is evaluated when it is
// rendered.
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
