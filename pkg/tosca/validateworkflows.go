package tosca

import (
	"maps"
	"slices"
	"strings"
)

// declaredOperation is what the types of a node say of an operation.
type declaredOperation struct {
	exists   bool
	siblings []string
	// inputs are those of the operation and of its interface.
	inputs map[string]*schema
}

// operationOf finds an operation of a node.
func (v validator) operationOf(n *template, iface, name string) declaredOperation {
	found := declaredOperation{inputs: map[string]*schema{}}
	var declarations []fileNode
	for _, d := range n.line {
		declared := d.at.get("interfaces").get(iface)
		if !declared.exists() {
			continue
		}
		declarations = append(declarations, declared)
		for _, ancestor := range v.lineOf(declared.file.lookup(interfaceTypes, declared.get("type").text())) {
			if ancestor.opaque {
				found.exists = true
			}
			declarations = append(declarations, ancestor.at)
		}
	}
	for _, p := range slices.Backward(declarations) {
		found.siblings = append(found.siblings, p.get("operations").names()...)
		operation := operationIn(p, name)
		found.exists = found.exists || operation.exists()
		for _, inputs := range []fileNode{p.get("inputs"), operation.get("inputs")} {
			if inputs.isMap() {
				maps.Copy(found.inputs, v.readSchemas(inputs, true))
			}
		}
	}
	return found
}

// operationIn is an operation of an interface. Before TOSCA 1.3 it is a key of the
// interface itself.
func operationIn(p fileNode, name string) fileNode {
	found := p.get("operations").get(name)
	if !found.exists() && !strict(p) && !slices.Contains(interfaceKeys, name) {
		return p.get(name)
	}
	return found
}

// operationsIn are all operations of an interface.
func operationsIn(p fileNode) []fileNode {
	all := p.get("operations").entries()
	if !strict(p) {
		all = append(all, p.entries()...)
	}
	return slices.DeleteFunc(all, func(entry fileNode) bool { return slices.Contains(interfaceKeys, entry.name()) })
}

var interfaceKeys = words(`type description inputs operations notifications derived_from version metadata`)

// validateWorkflow checks the steps of a workflow.
func (v validator) validateWorkflow(p fileNode) {
	if !v.wantMap(p) {
		return
	}
	v.described(p)
	inputs := v.readSchemas(p.get("inputs"), true)
	steps := p.get("steps")
	if !v.wantMap(steps) {
		return
	}
	for _, step := range steps.entries() {
		v.step(v.ctx)
		if !v.wantMap(step) {
			continue
		}
		for _, key := range []string{"on_success", "on_failure"} {
			for _, next := range append(step.get(key).elements(), step.get(key)) {
				if next.isScalar() && !next.isNull() && !steps.get(next.text()).exists() {
					v.faults.add(next, UnknownKeyname, "there is no step %s%s", shown(next.text()), v.didYouMean(next.text(), steps.names()))
				}
			}
		}
		v.validateStep(step, inputs)
	}
}

func (v validator) validateStep(step fileNode, inputs map[string]*schema) {
	target := step.get("target")
	n := v.templates[target.text()]
	groups := v.entry.topology().get("groups")
	if target.isScalar() && n == nil && !groups.get(target.text()).exists() {
		v.faults.add(target, UnknownNode, "there is no node template %s%s", shown(target.text()), v.near(target.text(), v.templateNames))
	}
	for _, activity := range step.get("activities").elements() {
		called := activity.get("call_operation")
		if !called.exists() || n == nil || n.line == nil || v.isOpen(n.line) || !strict(called) {
			continue
		}
		name := called
		if called.isMap() {
			name = called.get("operation")
		}
		iface, operation, _ := strings.Cut(name.text(), ".")
		found := v.operationOf(n, iface, operation)
		if !found.exists {
			v.faults.add(name, UnknownKeyname, "the node %s has no operation %s%s", n.name, shown(name.text()), v.didYouMean(operation, found.siblings))
			continue
		}
		v.validateCall(called, found.inputs, inputs)
	}
}

// validateCall checks the inputs that a workflow gives to an operation.
func (v validator) validateCall(called fileNode, wanted, inputs map[string]*schema) {
	given := called.get("inputs")
	for _, entry := range given.entries() {
		want := wanted[entry.name()]
		if want == nil {
			v.faults.add(entry, UnknownInput, "the operation has no input %s%s", shown(entry.name()), v.didYouMean(entry.name(), keysOf(wanted)))
			continue
		}
		v.validateGiven(entry, want, inputs)
	}
	for _, name := range keysOf(wanted) {
		if s := wanted[name]; s.required && !s.initial.exists() && !s.fixed.exists() && !given.get(name).exists() {
			v.faults.add(called, MissingInput, "the operation needs the input %s", name)
		}
	}
}

// validateGiven checks one input: a value, or an input of the workflow.
func (v validator) validateGiven(p fileNode, want *schema, inputs map[string]*schema) {
	from, isCall := p.only()
	if !isCall || from.name() != "$get_input" || !from.isScalar() {
		if !hasCall(p) {
			v.check(p, v.literalOf(p, want), want)
		}
		return
	}
	in := inputs[from.text()]
	switch {
	case in == nil && (v.inputs[from.text()] != nil || len(inputs) == 0):
	case in == nil:
		v.warn(from, "the workflow has no input %s%s", shown(from.text()), v.didYouMean(from.text(), keysOf(inputs)))
	case in.typeName != want.typeName && !v.isDerived(in, want.typeName):
		v.faults.add(p, ValueTypeMismatch, "the input %s of the workflow is of type %s, and the operation wants %s", from.text(), in.typeName, want.typeName)
	case want.required && !in.required && !in.initial.exists():
		v.faults.add(p, MissingInput, "the operation needs the input %s, and that of the workflow may be left out", p.name())
	}
}

// validateSubstitution checks what a template says that it stands for.
func (v validator) validateSubstitution(p fileNode) {
	if !p.isMap() {
		return
	}
	v.described(p)
	at := p.get("node_type")
	if !at.exists() && strict(p) {
		v.faults.add(p, MissingRequiredKeyname, "node_type is missing")
	}
	line := v.lineOf(v.typeNamed(at, nodeTypes))
	if line == nil || v.isOpen(line) {
		return
	}
	filter := p.get("substitution_filter")
	if inner := filter.get("node_filter"); inner.exists() {
		filter = inner // TOSCA 1.3
	}
	v.validateFilter(filter, line, line)
	if !strict(p) {
		return
	}
	for _, section := range []string{"capabilities", "interfaces"} {
		for _, entry := range p.get(section).entries() {
			if !declaredIn(line, section, entry.name()).exists() {
				v.faults.add(entry, UnknownKeyname, "%s has none of this name%s", at.text(), v.didYouMean(entry.name(), namesIn(line, section)))
			}
		}
	}
	for _, section := range []string{"capabilities", "requirements"} {
		entries := p.get(section).entries()
		for _, element := range p.get(section).elements() {
			entries = append(entries, element.entries()...)
		}
		for _, entry := range entries {
			v.validateMapping(entry)
		}
	}
}

// validateMapping checks that a mapping names a node of the template.
func (v validator) validateMapping(p fileNode) {
	name := p
	if elements := p.elements(); len(elements) > 0 {
		name = elements[0]
	}
	if name.isScalar() && !name.isNull() && v.templates[name.text()] == nil {
		v.faults.add(name, UnknownNode, "there is no node template %s%s", shown(name.text()), v.near(name.text(), v.templateNames))
	}
}
