package tosca

// warnOfSections reports the sections of the topology that have no effect on manifests.
func (t *model) warnOfSections() {
	p := t.entry.topology()
	for _, section := range []string{"policies", "groups", "substitution_mappings", "workflows", "imperative_workflows"} {
		if p.get(section).exists() {
			t.warn(p.get(section), "has no effect on manifests")
		}
	}
	for _, n := range t.order {
		if n.kubernetes && n.at.get("interfaces").exists() {
			t.warn(n.at.get("interfaces"), "has no effect on manifests")
		}
	}
}
