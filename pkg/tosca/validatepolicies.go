package tosca

import (
	"slices"
	"strings"
)

// validatePolicy checks a policy: its properties, that its targets are of the types
// that its own type allows, and its triggers.
func (v validator) validatePolicy(p fileNode) {
	v.validateTemplate(p, policyTypes)
	v.validateMembers(p, "targets", v.lineOf(p.file.lookup(policyTypes, p.get("type").text())))
	var targets [][]*definition
	if v.wantList(p.get("targets")) {
		for _, element := range p.get("targets").elements() {
			if n := v.templates[element.text()]; n != nil {
				targets = append(targets, n.line)
			}
		}
	}
	v.validateTriggers(p.get("triggers"), targets)
}

// validateMembers checks that the members of a group, or the targets of a policy, are
// nodes or groups of the types that its type names.
func (v validator) validateMembers(p fileNode, key string, line []*definition) {
	var allowed fileNode
	for _, d := range slices.Backward(line) {
		if own := d.at.get(key); own.isList() {
			allowed = own
		}
	}
	if len(allowed.elements()) == 0 {
		return
	}
	for _, member := range p.get(key).elements() {
		n := v.templates[member.text()]
		if n == nil || n.line == nil || v.isOpen(n.line) {
			continue
		}
		if !slices.ContainsFunc(allowed.elements(), func(one fileNode) bool { return v.isOf(n.line, one) }) {
			v.faults.add(member, InvalidType, "%s is of type %s, and %s takes only %s", member.text(), n.typeName, line[0].name, v.plainText(allowed))
		}
	}
}

// isOf reports whether a node is of the type that is named, which may not be known.
func (v validator) isOf(line []*definition, name fileNode) bool {
	wanted := name.file.lookup(nodeTypes, name.text())
	return (wanted == nil && name.file.lookup(groupTypes, name.text()) == nil) || slices.Contains(line, wanted)
}

func (v validator) plainText(p fileNode) string {
	content, _ := v.plainValue(p)
	return forMessage(content, false)
}

// validateTriggers checks the triggers of a policy or of a policy type. targets are the
// types that their conditions are about, unless they choose others.
func (v validator) validateTriggers(p fileNode, targets [][]*definition) {
	if !v.wantMap(p) {
		return
	}
	for _, trigger := range p.entries() {
		v.step(v.ctx)
		if !v.wantMap(trigger) {
			continue
		}
		v.described(trigger)
		if chosen := trigger.get("target_filter").get("node"); chosen.exists() {
			targets = [][]*definition{v.lineNamed(chosen)}
		}
		condition := trigger.get("condition")
		if strict(trigger) {
			v.validateTrigger(trigger)
			v.validateCondition(condition, targets)
			continue
		}
		if constraint := condition.get("constraint"); constraint.exists() {
			condition = constraint
		}
		v.validateClauses(condition, targets)
	}
}

// validateTrigger checks what TOSCA 2.0 wants of a trigger.
func (v validator) validateTrigger(p fileNode) {
	v.known(p, words(`description metadata event condition action schedule target_filter`))
	if !p.get("event").exists() {
		v.faults.add(p, MissingRequiredKeyname, "event is missing")
	}
	if v.wantList(p.get("action")) {
		for _, activity := range p.get("action").elements() {
			v.validateActivity(activity)
		}
	}
}

// validateActivity checks that a workflow that is named is there.
func (v validator) validateActivity(p fileNode) {
	for _, key := range []string{"inline", "delegate"} {
		name := p.get(key)
		if name.isMap() {
			name = name.get("workflow")
		}
		workflows := v.entry.topology().get("workflows")
		if key == "inline" && name.isScalar() && !workflows.get(name.text()).exists() {
			v.faults.add(name, UnknownKeyname, "there is no workflow %s%s", shown(name.text()), v.didYouMean(name.text(), workflows.names()))
		}
	}
}

// lineNamed is the type of a node template, or the node type, that is named.
func (v validator) lineNamed(p fileNode) []*definition {
	if n := v.templates[p.text()]; n != nil {
		return n.line
	}
	return v.lineOf(p.file.lookup(nodeTypes, p.text()))
}

// validateClauses checks a condition of TOSCA 1.3: clauses such as {cpu: [{greater_than:
// 5}]}, and those that and, or, not and assert combine.
func (v validator) validateClauses(p fileNode, targets [][]*definition) {
	for _, clause := range filtersIn(p) {
		switch clause.name() {
		case "and", "or", "not", "assert":
			v.validateClauses(clause, targets)
		case "constraint", "period", "evaluations", "method":
		default:
			v.validateAttribute(clause, targets)
		}
	}
}

// validateAttribute checks one clause about an attribute or property of the targets.
func (v validator) validateAttribute(clause fileNode, targets [][]*definition) {
	constraints := filtersIn(clause)
	if len(constraints) == 0 || slices.ContainsFunc(targets, func(line []*definition) bool { return line == nil || v.isOpen(line) }) {
		return
	}
	names := map[string]*schema{}
	for _, line := range targets {
		for _, d := range line {
			for _, schemas := range []map[string]*schema{d.attributes, d.properties} {
				for name, s := range schemas {
					names[name] = s
				}
			}
		}
	}
	s := names[clause.name()]
	if s == nil && len(targets) > 0 && !strings.Contains(clause.name(), ".") {
		v.faults.add(clause, UnknownProperty, "no target has an attribute %s%s", shown(clause.name()), v.didYouMean(clause.name(), keysOf(names)))
		return
	}
	for _, constraint := range constraints {
		v.validateClause(constraint, clause, s)
	}
}
