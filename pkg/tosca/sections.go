package tosca

import (
	"slices"
)

// checkSections looks at the parts of the topology that have no effect on
// manifests: they should have the right shape, and the nodes that they name.
func (t *model) checkSections() {
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

// checkMembers checks that node templates and groups that are named are there.
func (t *model) checkMembers(p fileNode) {
	for _, member := range p.elements() {
		name := member.text()
		if t.templates[name] != nil || t.hasGroup(name) {
			continue
		}
		t.faults.add(member, UnknownNode, "there is no node template or group %s%s", shown(name), t.near(name, t.templateNames))
	}
}

func (t *model) hasGroup(name string) bool {
	groups := t.entry.topology().get("groups")
	return groups.get(name).exists() || slices.ContainsFunc(groups.elements(), func(element fileNode) bool {
		return element.get(name).exists()
	})
}
