package tosca

import (
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/manifest"
)

// keysOfKinds are the keys of types whose kinds make no manifest.
var keysOfKinds = map[kind][]string{
	capabilityTypes:   words(`derived_from version metadata description properties attributes valid_source_types valid_source_node_types valid_relationship_types`),
	relationshipTypes: words(`derived_from version metadata description properties attributes interfaces valid_target_types valid_capability_types valid_target_node_types valid_source_node_types`),
	artifactTypes:     words(`derived_from version metadata description mime_type file_ext properties`),
	interfaceTypes:    words(`derived_from version metadata description inputs operations notifications`),
	policyTypes:       words(`derived_from version metadata description properties targets triggers`),
	groupTypes:        words(`derived_from version metadata description properties attributes members capabilities requirements interfaces`),
}

// validateTypes checks the types of all kinds.
func (v validator) validateTypes() {
	v.steps = 0 // what is checked beside has a budget of its own
	for _, f := range v.files {
		for kind := range f.types {
			for _, name := range slices.Sorted(maps.Keys(f.types[kind])) {
				v.step(v.ctx)
				v.readOther(f.types[kind][name])
			}
		}
	}
	for _, f := range v.files {
		for kind := range f.types {
			for _, name := range slices.Sorted(maps.Keys(f.types[kind])) {
				v.validateType(f.types[kind][name])
			}
		}
	}
}

// readOther reads what the translation does not.
func (v validator) readOther(d *definition) {
	if d.kind != nodeTypes && d.kind != dataTypes {
		d.properties = v.readSchemas(d.at.get("properties"), true)
		v.validateParent(d)
	}
	d.attributes = v.readSchemas(d.at.get("attributes"), true)
}

func (v validator) validateParent(d *definition) {
	parent := d.at.get("derived_from")
	if !parent.exists() || parent.isNull() {
		return
	}
	if _, ok := v.wantText(parent); ok && v.typeNamed(parent, d.kind) != nil {
		v.lineage(d, true)
	}
}

func (v validator) validateType(d *definition) {
	p, line := d.at, v.lineage(d, false)
	v.described(p)
	if strict(p) {
		v.validateStrictly(d, line)
	}
	v.validateSchemas(line, d.properties, v.inheritedSchemas(line, func(d *definition) map[string]*schema { return d.properties }))
	v.validateSchemas(line, d.attributes, v.inheritedSchemas(line, func(d *definition) map[string]*schema { return d.attributes }))
	v.typesNamed(p.get("valid_source_node_types"), nodeTypes)
	v.typesNamed(p.get("valid_target_node_types"), nodeTypes)
	v.typesNamed(p.get("valid_relationship_types"), relationshipTypes)
	v.typesNamed(p.get("valid_capability_types"), capabilityTypes)
	v.typesNamed(p.get("members"), nodeTypes)
	v.typesNamed(p.get("targets"), nodeTypes, groupTypes)
	v.validateCapabilityDefinitions(p.get("capabilities"))
	v.validateRequirementDefinitions(p.get("requirements"), line)
	v.validateInterfaceDefinitions(p.get("interfaces"))
}

// validateStrictly checks what TOSCA 1.x leaves open.
func (v validator) validateStrictly(d *definition, line []*definition) {
	p := d.at
	if keys := keysOfKinds[d.kind]; keys != nil {
		v.known(p, keys)
	}
	if version := p.get("version"); version.exists() && !matches(versionForm)(version.text()) {
		v.faults.add(version, ValueTypeMismatch, "%s is not a version like 1.0 or 1.2.3.beta-4", shown(version.text()))
	}
	if parent := p.get("derived_from"); parent.isScalar() && !parent.isNull() && (parent.text() == "" || !parent.isText()) {
		v.faults.add(parent, InvalidShape, "must be the name of a type")
	}
	switch d.kind {
	case dataTypes:
		v.constraintsOf(d)
		if base := line[len(line)-1].parent; isPrimitive(base) && base != "scalar" && p.get("properties").exists() {
			v.faults.add(p.get("properties"), InvalidType, "a type derived from %s has no properties", base)
		}
	case interfaceTypes:
		v.validateInterface(p, true)
	case policyTypes:
		v.validateTriggers(p.get("triggers"), nil)
	}
}

// inheritedSchemas are those of the types that a type is derived from.
func (v validator) inheritedSchemas(line []*definition, of func(*definition) map[string]*schema) map[string]*schema {
	all := map[string]*schema{}
	for _, d := range slices.Backward(line[1:]) {
		v.spend(v.ctx, len(of(d)))
		for name, s := range of(d) {
			all[name] = s.refining(all[name])
		}
	}
	return all
}

// validateSchemas checks the definitions of properties or attributes, and what they
// refine.
func (v validator) validateSchemas(line []*definition, own, inherited map[string]*schema) {
	for _, name := range keysOf(own) {
		s, before := own[name], inherited[name]
		v.described(s.at)
		switch {
		case !strict(s.at):
		case before != nil:
			v.validateRefinement(s, before)
		case s.typeName == "":
			v.faults.add(s.at, MissingRequiredKeyname, "type is missing")
		}
		if name == specKey && isKubernetes(line) {
			continue // a manifest, whatever its type says
		}
		refined := s.refining(before)
		for _, initial := range []fileNode{s.at.get("default"), s.at.get("value")} {
			if initial.exists() && !initial.isNull() && refined.typeName != "" && !callsAnything(initial) {
				v.check(initial, v.completed(v.literalOf(initial, refined), refined, initial), refined)
			}
		}
	}
}

func (v validator) validateRefinement(s, before *schema) {
	fixed := before.at.get("value")
	if own := s.at.get("value"); own.exists() && fixed.exists() {
		v.faults.add(own, InvalidType, "the value is fixed in the type that this one is derived from")
	}
	if s.typeName != "" && before.typeName != "" && s.typeName != before.typeName && !v.isDerived(s, before.typeName) {
		v.faults.add(s.at.get("type"), InvalidType, "%s is not derived from %s, which is the type of what is refined", shown(s.typeName), before.typeName)
	}
}

// isDerived reports whether the type of a schema is derived from another.
func (v validator) isDerived(s *schema, from string) bool {
	line := v.lineOf(v.dataType(s.at.file, s.typeName))
	return slices.ContainsFunc(line, func(d *definition) bool { return d.name == from || d.parent == from })
}

// validateCapabilityDefinitions checks the capabilities of a node type: the name of
// a type, or a map.
func (v validator) validateCapabilityDefinitions(p fileNode) {
	if !v.wantMap(p) {
		return
	}
	for _, entry := range p.entries() {
		name := entry
		if entry.isMap() {
			v.described(entry)
			name = entry.get("type")
			v.readSchemas(entry.get("attributes"), true)
			v.typesNamed(entry.get("valid_source_node_types"), nodeTypes)
		}
		v.typeNamed(name, capabilityTypes)
	}
}

// validateRequirementDefinitions checks the requirements of a node type.
func (v validator) validateRequirementDefinitions(p fileNode, line []*definition) {
	if p.isMap() && strict(p) {
		v.faults.add(p, InvalidShape, "must be a list, not a map")
	}
	for _, element := range p.elements() {
		requirement, single := element.only()
		if !single {
			if strict(p) {
				v.faults.add(element, InvalidShape, "must be a map with one requirement, like {host: Host}")
			}
			continue
		}
		if !requirement.isMap() {
			v.typeNamed(requirement, capabilityTypes)
			continue
		}
		v.described(requirement)
		if relationship := requirement.get("relationship"); relationship.isMap() {
			v.typeNamed(relationship.get("type"), relationshipTypes)
		} else {
			v.typeNamed(relationship, relationshipTypes)
		}
		v.countRange(requirement.get("count_range"))
		v.validateFilter(requirement.get("node_filter"), v.lineOf(v.typeNamed(requirement.get("node"), nodeTypes)), line)
	}
}

// countRange checks a range of integers, and returns it.
func (v validator) countRange(p fileNode) (least, most int64, ok bool) {
	if !p.exists() || p.isNull() {
		return 0, 0, false
	}
	bounds := v.literalOf(p, &schema{at: p, typeName: "range"})
	if elements := p.elements(); !isRange(bounds.any) || elements[0].node.ShortTag() == manifest.TagFloat || elements[1].node.ShortTag() == manifest.TagFloat {
		v.faults.add(p, ValueTypeMismatch, "must be %s", primitives["range"].article)
		return 0, 0, false
	}
	list := bounds.any.([]any)
	least = list[0].(int64)
	if most, ok = list[1].(int64); !ok {
		most = 1<<63 - 1 // UNBOUNDED
	}
	return least, most, true
}

// validateInterfaceDefinitions checks the interfaces of a type.
func (v validator) validateInterfaceDefinitions(p fileNode) {
	if !v.wantMap(p) {
		return
	}
	for _, entry := range p.entries() {
		if !entry.isMap() {
			continue
		}
		v.typeNamed(entry.get("type"), interfaceTypes)
		if strict(p) {
			v.validateInterface(entry, false)
		}
	}
}

// validateInterface checks operations and inputs. Those of a type have no
// implementation: what implements them, its users say.
func (v validator) validateInterface(p fileNode, isType bool) {
	v.described(p)
	v.validateParameters(p.get("inputs"), !isType)
	for _, section := range []string{"operations", "notifications"} {
		if !v.wantMap(p.get(section)) {
			continue
		}
		for _, operation := range p.get(section).entries() {
			v.described(operation)
			v.validateParameters(operation.get("inputs"), !isType)
			if implementation := operation.get("implementation"); isType && implementation.exists() {
				v.faults.add(implementation, InvalidShape, "an interface type has no implementations: the types that use it have")
			}
		}
	}
}

// validateParameters checks definitions of inputs, which are maps.
func (v validator) validateParameters(p fileNode, short bool) {
	if !v.wantMap(p) {
		return
	}
	for _, entry := range p.entries() {
		if !entry.isMap() && !short {
			v.faults.add(entry, InvalidShape, "must be a map with a type, not %s", entry.describe())
		}
	}
	v.readSchemas(p, true)
}
