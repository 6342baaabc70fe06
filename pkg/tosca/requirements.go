package tosca

// readRequirements reads the requirements of a node template. Their order determines that of get_property with an
// index.
//
//	requirements:
//	- host: server                                  # short form
//	- database: {node: db, capability: endpoint}    # long form
//	- database: {node: replica}                     # the second: [SELF, RELATIONSHIP, database, 1, …]
func (t *model) readRequirements(n *template) {
	for _, entry := range t.faults.wantMaps(n.get("requirements"), InvalidShape, "{dependency: node}") {
		t.readRequirement(n, entry)
	}
}

// readRequirement reads `dependency: node` or `dependency: {node: …}`. A requirement without a node has no effect:
// another orchestrator would find one. The key can also be the name of a requirement that the type does not declare:
// types of other profiles are often not known. Only the node and the capability are used; occurrences, relationships
// and filters have no effect.
func (t *model) readRequirement(n *template, p fileNode) {
	node := p
	if p.isMap() {
		t.known(p, requireKeys)
		node = p.get("node")
	}
	if !node.exists() || node.isNull() {
		t.warn(p, "has no effect: it names no node")
		return
	}
	if elements := node.elements(); len(elements) == 2 && node.file.version.dollar() {
		node = elements[0] // the other is the index of one of its representations
	}
	name, ok := t.faults.wantText(node)
	if !ok {
		return
	}
	r := requirement{name: p.name(), at: p, to: t.templates[name]}
	if r.to == nil {
		t.missingTarget(n, r, node)
	}
	n.requirements = append(n.requirements, r)
}

// missingTarget reports a requirement whose node is not in the template. Other orchestrators find hosts elsewhere, so
// some of them are only warnings.
//
//	the node has another type, and foreign nodes are ignored    nothing: the node is skipped
//	the name is that of a type                                  a warning: an orchestrator would find a node
//	a host, and foreign nodes are ignored                       a warning: hosts are often elsewhere
//	any other                                                   an error, with the nearest name
func (t *model) missingTarget(n *template, r requirement, node fileNode) {
	switch {
	case !n.kubernetes && t.options.IgnoreForeignNodes:
	case t.find(node.file, nodeTypes, node.text()) != nil:
		t.warn(r.at, "has no effect: it names a type, %s, and no node", node.text())
	case r.name == "host" && t.options.IgnoreForeignNodes:
		t.warn(r.at, "skipped: there is no node template %s", quote(node.text()))
	default:
		t.noTemplate(node)
	}
}
