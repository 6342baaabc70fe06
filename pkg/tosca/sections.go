package tosca

import "slices"

// checkSections looks at the parts of the topology that have no effect on
// manifests: they must have the right shape, and what they name must be there.
func (t *translator) checkSections() {
	p := t.entry.topology()
	for _, section := range []string{"policies", "groups", "relationship_templates", "workflows", "imperative_workflows"} {
		for _, entry := range t.namedMaps(p.get(section)) {
			t.checkMembers(entry.get("targets"))
			t.checkMembers(entry.get("members"))
		}
	}
	for _, section := range []string{"policies", "groups", "substitution_mappings", "workflows", "imperative_workflows"} {
		if p.get(section).exists() {
			t.warn(p.get(section), "has no effect on manifests")
		}
	}
	t.wantMap(p.get("substitution_mappings"))
	for _, n := range t.order {
		for _, section := range []string{"interfaces", "capabilities"} {
			t.wantMap(n.at.get(section))
		}
		if n.kubernetes && n.at.get("interfaces").exists() {
			t.warn(n.at.get("interfaces"), "has no effect on manifests")
		}
	}
}

// namedMaps are the entries of a map, or of a list of maps with one entry each,
// as policies and groups are written in different versions.
func (t *translator) namedMaps(p place) []place {
	if !p.exists() || p.isNull() {
		return nil
	}
	entries := p.entries()
	for _, element := range p.elements() {
		if !element.isMap() {
			t.faults.add(element, InvalidShape, "must be a map, not %s", element.describe())
		}
		entries = append(entries, element.entries()...)
	}
	if p.isScalar() {
		t.faults.add(p, InvalidShape, "must be a map or a list of maps, not %s", p.describe())
	}
	return slices.DeleteFunc(entries, func(entry place) bool { return !t.wantMap(entry) })
}

// checkMembers checks that node templates and groups that are named are there.
func (t *translator) checkMembers(p place) {
	for _, member := range p.elements() {
		name := member.text()
		if t.templates[name] != nil || t.hasGroup(name) {
			continue
		}
		t.faults.add(member, UnknownNode, "there is no node template or group %s%s", shown(name), t.near(name, t.templateNames))
	}
}

func (t *translator) hasGroup(name string) bool {
	groups := t.entry.topology().get("groups")
	return groups.get(name).exists() || slices.ContainsFunc(groups.elements(), func(element place) bool {
		return element.get(name).exists()
	})
}
