package tosca

import (
	"fmt"
	"slices"
)

// validateTopology checks what is assigned in the topology, to whatever types.
func (v validator) validateTopology() {
	v.later, v.steps = true, 0
	topology := v.entry.topology()
	for _, n := range v.order {
		v.validateNode(n)
	}
	for _, entry := range topology.get("relationship_templates").entries() {
		v.validateTemplate(entry, relationshipTypes)
	}
	for _, entry := range v.namedMaps(topology.get("groups")) {
		v.validateTemplate(entry, groupTypes)
		if v.wantList(entry.get("members")) {
			v.validateMembers(entry, "members", v.lineOf(entry.file.lookup(groupTypes, entry.get("type").text())))
		}
	}
	for _, entry := range v.namedMaps(topology.get("policies")) {
		v.validatePolicy(entry)
	}
	for _, section := range []string{"workflows", "imperative_workflows"} {
		for _, entry := range topology.get(section).entries() {
			v.validateWorkflow(entry)
		}
	}
	v.validateSubstitution(topology.get("substitution_mappings"))
}

// validateTemplate checks a template that is no node: its type and its properties.
func (v validator) validateTemplate(p fileNode, kind kind) {
	v.described(p)
	at := p.get("type")
	if !at.exists() && strict(p) && !p.get("copy").exists() {
		v.faults.add(p, MissingRequiredKeyname, "type is missing")
	}
	if line := v.lineOf(v.typeNamed(at, kind)); line != nil && !v.isOpen(line) {
		complete := !p.get("copy").exists() && (strict(p) || kind != groupTypes) // groups of 1.x often lack them
		v.assignments(p.get("properties"), p, v.propertiesOf(line), scope{}, at.text(), complete)
	}
}

// validateNode checks a node template of any type.
func (v validator) validateNode(n *template) {
	v.step(v.ctx)
	v.described(n.at)
	if len(n.line) > 0 && strict(n.at) && !n.kubernetes && n.line[0].isImplied(n.at.file, n.typeName) {
		v.warn(n.get("type"), "TOSCA 2.0 has no type %s without an import: import the profile org.oasis-open.simple:2.0", n.typeName)
	}
	if n.line == nil || v.isOpen(n.line) {
		return
	}
	v.validateAssignments(n)
	v.validateRequirements(n)
	if strict(n.at) || n.at.get("directives").exists() { // else some take it for that of all its requirements
		v.validateFilter(n.get("node_filter"), n.line, n.line)
	}
	v.validateInterfaces(n)
	for _, artifact := range n.get("artifacts").entries() {
		v.typeNamed(artifact.get("type"), artifactTypes)
	}
}

// validateAssignments checks what a node assigns to what its type has.
func (v validator) validateAssignments(n *template) {
	found := n.at.get("directives").exists() // elsewhere, with what is not said here
	switch {
	case found && !n.kubernetes:
		v.assignments(n.get("properties"), n.at, n.schemas, scope{self: n}, n.typeName, false)
	case !n.kubernetes:
		v.checkPropertyNames(n)
		v.checkProperties(n)
	}
	if !found {
		v.validateCapabilities(n)
	}
	attributes := v.inheritedSchemas(append([]*definition{nil}, n.line...), func(d *definition) map[string]*schema { return d.attributes })
	if strict(n.at) && len(attributes) > 0 {
		v.assignments(n.get("attributes"), n.at, attributes, scope{self: n}, n.typeName, false)
	}
}

// assignments checks values against the schemas of a type. within is what they are
// assigned in; complete says that required ones must be.
func (v validator) assignments(p, within fileNode, schemas map[string]*schema, s scope, typeName string, complete bool) {
	if p.exists() && !v.wantMap(p) {
		return
	}
	for _, entry := range p.entries() {
		schema := schemas[entry.name()]
		switch {
		case schema == nil:
			v.faults.add(entry, UnknownProperty, "%s has no property %s%s", typeName, shown(entry.name()), v.didYouMean(entry.name(), keysOf(schemas)))
		case schema.fixed.exists():
			v.faults.add(entry, InvalidType, "the value is fixed by the type %s", typeName)
		default:
			s.want = schema
			value := v.eval(entry, s)
			v.check(entry, v.completed(value, schema, entry), schema)
		}
	}
	for _, name := range keysOf(schemas) {
		if s := schemas[name]; complete && s.required && !s.initial.exists() && !s.fixed.exists() && !p.get(name).exists() {
			v.faults.add(within, MissingProperty, "%s needs the property %s", typeName, name)
		}
	}
}

// validateCapabilities checks the capabilities that a node assigns, and those of its
// type that need an assignment.
func (v validator) validateCapabilities(n *template) {
	assigned := n.get("capabilities")
	names := func() []string { return namesIn(n.line, "capabilities") }
	for _, entry := range assigned.entries() {
		v.step(v.ctx)
		declared := declaredIn(n.line, "capabilities", entry.name())
		if !declared.exists() {
			v.faults.add(entry, UnknownKeyname, "%s has no capability %s%s", n.typeName, shown(entry.name()), v.near(entry.name(), names))
			continue
		}
		if v.wantMap(entry) {
			v.validateCapability(n, declared, entry.get("properties"), entry)
		}
	}
	if !strict(n.at) {
		return
	}
	for _, name := range names() {
		if !assigned.get(name).exists() {
			v.validateCapability(n, declaredIn(n.line, "capabilities", name), fileNode{}, n.at)
		}
	}
}

func (v validator) validateCapability(n *template, declared, properties, at fileNode) {
	name := declared
	if declared.isMap() {
		name = declared.get("type")
	}
	line := v.lineOf(declared.file.lookup(capabilityTypes, name.text()))
	if line == nil || v.isOpen(line) {
		return
	}
	schemas := map[string]*schema{}
	for key, s := range v.propertiesOf(line) {
		schemas[key] = s
	}
	for _, refinement := range declared.get("properties").entries() {
		refined := &schema{at: refinement, required: true}
		if refinement.isMap() {
			refined = v.readSchema(refinement, true)
		} else {
			refined.fixed = refinement
		}
		schemas[refinement.name()] = refined.refining(schemas[refinement.name()])
	}
	v.assignments(properties, at, schemas, scope{self: n}, line[0].name, strict(n.at))
}

// validateRequirements checks the requirements of a node: their names, and in TOSCA 2.0
// how many there are.
func (v validator) validateRequirements(n *template) {
	counts := map[string]int64{}
	for _, element := range n.get("requirements").elements() {
		for _, entry := range element.entries() {
			counts[entry.name()]++
			if entry.name() != "dependency" && !declaredRequirement(n.line, entry.name()).exists() {
				v.faults.add(entry, UnknownKeyname, "%s has no requirement %s%s", n.typeName, shown(entry.name()), v.didYouMean(entry.name(), declaredRequirements(n.line)))
			}
			v.typeOfRelationship(entry.get("relationship"))
			v.validateFilter(entry.get("node_filter"), v.candidates(n, entry), n.line)
		}
	}
	for _, name := range declaredRequirements(n.line) {
		least, most, ok := v.countRange(declaredRequirement(n.line, name).get("count_range"))
		count := counts[name]
		switch {
		case ok && count > most:
			v.faults.add(n.get("requirements"), ConstraintViolation, "the requirement %s is there %s, and %s allows %d", name, times(count), n.typeName, most)
		case ok && count > 0 && count < least:
			v.faults.add(n.get("requirements"), ConstraintViolation, "the requirement %s is there %s, and %s needs %d", name, times(count), n.typeName, least)
		}
	}
}

func times(count int64) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
}

// candidates is the type of the nodes that a requirement may lead to; nil if it is not
// known.
func (v validator) candidates(n *template, assigned fileNode) []*definition {
	if node := assigned.get("node"); node.isScalar() {
		return v.lineNamed(node)
	}
	if node := declaredRequirement(n.line, assigned.name()).get("node"); node.isScalar() {
		return v.lineOf(node.file.lookup(nodeTypes, node.text()))
	}
	return nil
}

// typeOfRelationship checks the relationship of a requirement: the name of a type or
// template, or a map with a type.
func (v validator) typeOfRelationship(p fileNode) {
	if p.isMap() {
		v.typeNamed(p.get("type"), relationshipTypes)
		return
	}
	if p.exists() && !v.entry.topology().get("relationship_templates").get(p.text()).exists() {
		v.typeNamed(p, relationshipTypes)
	}
}

func declaredRequirements(line []*definition) []string {
	var names []string
	for _, d := range line {
		for _, element := range d.at.get("requirements").elements() {
			for _, name := range element.names() {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// validateInterfaces checks what a node assigns to the operations of its type. In TOSCA
// 1.x there may be others, with inputs of their own.
func (v validator) validateInterfaces(n *template) {
	if !v.wantMap(n.get("interfaces")) {
		return
	}
	for _, entry := range n.get("interfaces").entries() {
		if !declaredIn(n.line, "interfaces", entry.name()).exists() {
			if strict(entry) {
				v.faults.add(entry, UnknownKeyname, "%s has no interface %s%s", n.typeName, shown(entry.name()), v.didYouMean(entry.name(), namesIn(n.line, "interfaces")))
			}
			continue
		}
		v.validateGivenInputs(n, entry.get("inputs"), v.operationOf(n, entry.name(), "").inputs)
		for _, operation := range operationsIn(entry) {
			o := v.operationOf(n, entry.name(), operation.name())
			if !o.exists && strict(operation) {
				v.faults.add(operation, UnknownKeyname, "the interface %s has no operation %s%s", entry.name(), shown(operation.name()), v.didYouMean(operation.name(), o.siblings))
				continue
			}
			v.validateGivenInputs(n, operation.get("inputs"), o.inputs)
		}
	}
}

// validateGivenInputs checks the values of inputs that are declared. Those that are not,
// or that are declared where they are given, are for the implementation to know.
func (v validator) validateGivenInputs(n *template, given fileNode, declared map[string]*schema) {
	if !v.wantMap(given) {
		return
	}
	for _, entry := range given.entries() {
		s := declared[entry.name()]
		if entry.get("type").exists() {
			s = nil
		}
		value := v.eval(entry, scope{self: n, want: s})
		v.check(entry, v.completed(value, s, entry), s)
	}
}
