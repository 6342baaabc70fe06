package tosca

import (
	"cmp"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// getProperty evaluates get_property: [SELF | HOST | node, property, key or index…],
// with the name of a requirement or capability before that of the property, or
// with a path of TOSCA 2.0 before it: RELATIONSHIP, requirement, [index,] TARGET;
// CAPABILITY, name.
func getProperty(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	e.spend(len(elements))
	if len(elements) < 2 {
		return e.fail(args, InvalidFunction, "get_property needs a node and a property: [SELF, name]")
	}
	for _, element := range elements {
		if !element.isScalar() || element.isNull() {
			return e.fail(element, InvalidFunction, "must be a name or an index, not %s", element.describe())
		}
	}
	n := e.entity(elements[0], s)
	if n == nil {
		return unknown
	}
	return e.propertyAt(n, elements[1:])
}

// entity returns the node template that the first argument names. It reports an unknown one, and returns nil.
//
//	SELF              the node that contains the expression
//	HOST              the node of its first requirement host
//	SOURCE, TARGET    an error: they are known only in relationships
//	any other         the node template of that name
func (e *navigator) entity(p fileNode, s scope) *template {
	name := p.text()
	switch {
	case name == "SOURCE" || name == "TARGET":
		e.faults.add(p, InvalidFunction, "%s is known only in relationships", name)
		return nil
	case name != "SELF" && name != "HOST":
		n := e.templates[name]
		if n == nil {
			e.noTemplate(p, "SELF", "HOST")
		}
		return n
	case s.self == nil:
		e.faults.add(p, InvalidFunction, "%s is known only in node templates", name)
		return nil
	case name == "SELF":
		return s.self
	}
	hosts := s.self.requirementsNamed("host")
	if len(hosts) == 0 || hosts[0].to == nil {
		e.faults.add(p, UnknownNode, "%s has no host in the template", s.self.name)
		return nil
	}
	return hosts[0].to
}

// propertyAt returns the value that the arguments after the node lead to. The first argument that remains is one of
// these, in this order of precedence:
//
//	a property of the node                     the result is its value
//	RELATIONSHIP                               the node at the end of the requirement is next
//	CAPABILITY                                 the argument after it is a capability
//	a capability with the property after it    the result is the value of this property
//	a requirement                              the result is a property of its capability, or the node at its end is next
//
// Each pass of the loop follows one requirement, so the number of passes is at most that of the arguments.
func (e *evaluator) propertyAt(n *template, steps []fileNode) value {
	for {
		name := steps[0].text()
		if hasProperty(n, name) {
			return e.walk(e.property(n, name, steps[0]), steps[1:])
		}
		if len(steps) < 2 {
			return e.noProperty(n, steps[0])
		}
		switch name {
		case "RELATIONSHIP":
			along, rest := e.alongRelationship(n, steps[1:])
			if along.to == nil {
				return unknown
			}
			if n, steps = along.to, rest; len(steps) == 2 && steps[0].text() == "CAPABILITY" {
				v, _ := e.ofRequired(along, steps[1])
				return v
			}
			continue
		case "CAPABILITY":
			steps = steps[1:]
			name = steps[0].text()
			if len(steps) < 2 {
				return e.noProperty(n, steps[0])
			}
		}
		if v, exists := e.ofCapability(n, name, steps[1]); exists {
			return e.walk(v, steps[2:])
		}
		targets := n.requirementsNamed(name)
		if len(targets) == 0 || targets[0].to == nil {
			return e.noProperty(n, steps[0])
		}
		if v, exists := e.ofRequired(targets[0], steps[1]); exists {
			return e.walk(v, steps[2:])
		}
		n, steps = targets[0].to, steps[1:]
	}
}

// ofCapability evaluates a property of a capability, or its default. It returns false, with an unset value, if the
// property has neither. The value assigned in the node precedes the default of the capability type. It is not checked
// against a schema.
func (e *evaluator) ofCapability(n *template, capability string, from fileNode) (value, bool) {
	name := from.text()
	p := n.get("capabilities").get(capability).get("properties").get(name)
	for _, d := range e.capabilityLine(n.line, capability) {
		p = cmp.Or(p, d.at.get("properties").get(name).get("default"))
	}
	if !p.exists() {
		return value{unset: true}, false
	}
	return e.propertyValue(property{n, capability + ".", name}, from, func() value { return e.eval(p, scope{self: n}) }), true
}

// ofRequired evaluates a property of the capability that a requirement leads to. This is the capability that the
// requirement names, or the one with the requirement's own name.
//
//	requirements: [{database: {node: db, capability: endpoint}}]
//
// looks for the property in the capability endpoint of db, and then in a capability named database.
func (e *evaluator) ofRequired(r requirement, from fileNode) (value, bool) {
	if v, exists := e.ofCapability(r.to, r.at.get("capability").text(), from); exists {
		return v, true
	}
	return e.ofCapability(r.to, r.name, from)
}

// hasProperty reports whether a property can have a value: it is assigned, or its type declares it. A declared property
// without a value exists, and its value is unset.
func hasProperty(n *template, name string) bool {
	return n.get("properties").get(name).exists() || n.schemas[name] != nil
}

// hasValue reports whether a property is assigned or has a default.
func (n *template) hasValue(name string) bool {
	s := n.schemas[name]
	return n.get("properties").get(name).exists() || s != nil && s.initial.exists()
}

// noProperty reports that a node has no such property, and returns unknown.
func (e *navigator) noProperty(n *template, p fileNode) value {
	names := func() []string { return append(n.get("properties").names(), keysOf(n.schemas)...) }
	return e.fail(p, UnknownProperty, "the node %s has no property %s%s", n.name, quote(p.text()), e.near(p.text(), names))
}

// alongRelationship follows requirement, [index,] TARGET. TARGET can be omitted before CAPABILITY. It returns the
// requirement and the remaining steps, which are never empty. After an error, to is nil. Without an index, it follows
// the first requirement of that name. TOSCA 2.0 writes the path as
//
//	$get_property: [SELF, RELATIONSHIP, database, 1, TARGET, port]
func (e *navigator) alongRelationship(n *template, steps []fileNode) (requirement, []fileNode) {
	requirements, index := n.requirementsNamed(steps[0].text()), int64(0)
	at := steps[0]
	if steps = steps[1:]; len(steps) > 1 {
		if i, err := manifest.Scalar(steps[0].node, false); err == nil && isOf[int64](i) {
			index, steps = i.(int64), steps[1:]
		}
	}
	if len(steps) > 1 && steps[0].text() == "TARGET" {
		steps = steps[1:]
	}
	if index < 0 || index >= int64(len(requirements)) || requirements[index].to == nil || len(steps) == 0 {
		e.faults.add(at, UnknownNode, "the node %s has no such requirement%s", n.name, e.near(at.text(), func() []string {
			return collectNames(n.requirements, func(r requirement) string { return r.name })
		}))
		return requirement{}, nil
	}
	return requirements[index], steps
}

// getAttribute evaluates attributes that are properties, which TOSCA 2.0 reflects as attributes. All others need a
// running deployment. An attribute such as an address is known only after the deployment, and an output with it is
// Unavailable. SELF is accepted in lower case, as templates of TOSCA 1.0 have it.
func getAttribute(e *evaluator, args fileNode, s scope) value {
	elements := args.elements()
	if len(elements) < 2 || !elements[0].isScalar() || !elements[1].isScalar() {
		return e.fail(args, InvalidFunction, "get_attribute needs a node and an attribute: [SELF, name]")
	}
	n := s.self
	if n == nil || !strings.EqualFold(elements[0].text(), "SELF") {
		n = e.entity(elements[0], s)
	}
	switch {
	case n == nil:
		return unknown
	case n.hasValue(elements[1].text()):
		return getProperty(e, args, s)
	default:
		return notAvailable(e, args, s)
	}
}
