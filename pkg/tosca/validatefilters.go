package tosca

import (
	"slices"
	"strings"
)

// validateFilter checks a node filter against the type of the nodes that it chooses
// from: the lists of TOSCA 1.x, or the condition of TOSCA 2.0, which may be about the
// node that has the requirement, too.
func (v validator) validateFilter(p fileNode, line, source []*definition) {
	switch {
	case !p.exists() || p.isNull():
	case strict(p):
		v.validateCondition(p, [][]*definition{line, source})
	case v.wantMap(p):
		v.validatePropertyFilters(p.get("properties"), v.schemasOf(line))
		for _, entry := range filtersIn(p.get("capabilities")) {
			v.validatePropertyFilters(entry.get("properties"), v.schemasOf(v.capabilityLine(line, entry.name())))
		}
	}
}

// filtersIn are the entries of a map, or of a list of maps.
func filtersIn(p fileNode) []fileNode {
	all := p.entries()
	for _, element := range p.elements() {
		all = append(all, element.entries()...)
	}
	return all
}

// schemasOf are the properties of a type; nil if not all of them are known.
func (v validator) schemasOf(line []*definition) map[string]*schema {
	if line == nil || v.isOpen(line) {
		return nil
	}
	return v.propertiesOf(line)
}

// validatePropertyFilters checks the constraints of TOSCA 1.x: their properties, their
// operators and what values are held against.
func (v validator) validatePropertyFilters(p fileNode, schemas map[string]*schema) {
	for _, entry := range filtersIn(p) {
		v.step(v.ctx)
		s := schemas[entry.name()]
		if s == nil && schemas != nil {
			v.faults.add(entry, UnknownProperty, "there is no property %s to filter by%s", shown(entry.name()), v.didYouMean(entry.name(), keysOf(schemas)))
			continue
		}
		for _, clause := range append(filtersIn(entry), entry) {
			if clause.isMap() || clause.isList() && clause.node == entry.node {
				continue
			}
			v.validateClause(clause, entry, s)
		}
	}
}

// validateClause checks one constraint, or the value that a property is to be equal to.
func (v validator) validateClause(clause, property fileNode, s *schema) {
	if clause.node == property.node {
		if s != nil {
			v.check(clause, v.literalOf(clause, s), s)
		}
		return
	}
	held := v.readClause(nil, clause.name(), clause)
	if len(held) == 0 || s == nil || slices.Contains([]string{"pattern", "length", "min_length", "max_length", "schema"}, clause.name()) {
		return
	}
	kind := &schema{at: s.at, typeName: s.typeName, entry: s.entry, key: s.key}
	for _, bound := range append(clause.elements(), clause) {
		if (bound.node == clause.node) == clause.isList() || bound.text() == unbounded {
			continue
		}
		v.check(bound, v.literalOf(bound, kind), kind)
	}
}

// validateCondition checks a condition of TOSCA 2.0: the functions that it calls, and
// the properties of the nodes that it is about.
func (v validator) validateCondition(p fileNode, self [][]*definition) {
	if v.checkCalls(p) {
		v.validateReferences(p, self)
	}
}

func (v validator) validateReferences(p fileNode, self [][]*definition) {
	v.step(v.ctx)
	called, isCall := p.only()
	if name := called.name(); isCall && (name == "$get_property" || name == "$get_attribute") {
		v.validateReference(called, self)
		return
	}
	for _, part := range append(p.elements(), p.entries()...) {
		v.validateReferences(part, self)
	}
}

// validateReference checks [SELF, property] and [node, property]. SELF may be any of
// several types.
func (v validator) validateReference(args fileNode, self [][]*definition) {
	path := args.elements()
	if len(path) < 2 {
		v.faults.add(args, InvalidFunction, "needs a node and a property: [SELF, name]")
		return
	}
	switch name := path[0].text(); {
	case name == "SELF" || name == "TARGET":
	case v.templates[name] != nil:
		self = [][]*definition{v.templates[name].line}
	case name == "SOURCE" || name == "HOST":
		return
	default:
		v.faults.add(path[0], UnknownNode, "there is no node template %s%s", shown(name), v.near(name, v.templateNames))
		return
	}
	var names []string
	for _, line := range self {
		if line == nil || v.isOpen(line) {
			return
		}
		names = append(names, v.memberNames(line)...)
	}
	if name := path[1].text(); !slices.Contains(names, name) && name != strings.ToUpper(name) {
		v.faults.add(path[1], UnknownProperty, "%s has no property %s%s", self[0][0].name, shown(name), v.didYouMean(name, names))
	}
}

// memberNames are what a path may go on with from a node of a type.
func (v validator) memberNames(line []*definition) []string {
	names := append(declaredRequirements(line), namesIn(line, "capabilities")...)
	for _, d := range line {
		names = append(append(names, keysOf(d.properties)...), keysOf(d.attributes)...)
	}
	return names
}
