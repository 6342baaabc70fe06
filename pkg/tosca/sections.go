package tosca

// warnOfSections reports the sections of the topology that have no effect on manifests. Policies, groups and workflows
// are instructions for an orchestrator, which installs and operates a deployment. A translation has none. An interface
// of a Kubernetes node has no effect either, because the controller of the kind operates the object. Interfaces of
// other nodes are not reported: these nodes are skipped or rejected as a whole.
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
