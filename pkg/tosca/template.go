package tosca

import (
	"fmt"
	"slices"
	"strings"
)

// readTopology reads the names of the node templates. Their types and requirements are read by checkTopology. The names
// are read before everything else, because requirements and inputs can refer to nodes that follow.
func (t *model) readTopology() {
	p := t.entry.topology()
	if !p.exists() {
		t.nothing(t.entry.root, "the template has no topology_template (service_template in TOSCA 2.0): there is nothing to translate")
		return
	}
	if t.entry.root.get("topology_template").exists() && t.entry.root.get("service_template").exists() {
		t.faults.add(t.entry.root.get("service_template"), InvalidShape, "cannot be used together with topology_template: remove one of them")
	}
	if !t.faults.wantMap(p) {
		return
	}
	t.known(p, topologyKeys)
	nodes := p.get("node_templates")
	if nodes.exists() && !nodes.isNull() && !t.faults.wantMap(nodes) {
		return
	}
	if len(nodes.entries()) == 0 {
		t.nothing(p, "the topology has no node_templates: there is nothing to translate")
	}
	for _, entry := range nodes.entries() {
		t.readTemplate(entry)
	}
}

// nothing reports a template without nodes. It is an error, except for Validate: a file of types is valid there.
func (t *session) nothing(at fileNode, message string) {
	if t.lenient {
		t.warn(at, "%s", message)
		return
	}
	t.faults.add(at, MissingRequiredKeyname, "%s", message)
}

// readTemplate adds a node template to the model.
func (t *model) readTemplate(p fileNode) {
	if !p.isMap() {
		t.faults.add(p, InvalidShape, "must be a map with a type, not %s", p.describe())
		return
	}
	n := &template{name: p.name(), at: p, index: len(t.order)}
	t.templates[n.name] = n
	t.order = append(t.order, n)
}

// checkFound rejects a Kubernetes object that the template only selects. An object that may be substituted is created
// from its manifest. TOSCA 1.3 and 2.0 define the directives. Their case has no effect. A select needs an orchestrator
// with an inventory of nodes. count creates several instances in TOSCA 2.0, and a manifest has one name.
func (t *model) checkFound(n *template) {
	directives := n.at.get("directives")
	for _, directive := range append(directives.elements(), directives) {
		switch name := strings.ToLower(directive.text()); name {
		case "select", "selectable":
			t.faults.add(directive, NotSupported, "the directive %s is not supported for a Kubernetes object, which is always created from its manifest", name)
		case "substitute", "substitutable":
			t.warn(directive, "has no effect: a node with a manifest is not substituted")
		case "", "create", "internal":
		default:
			t.faults.add(directive, InvalidShape, "there is no directive %s%s", quote(directive.text()), t.didYouMean(name, []string{"create", "internal", "select", "substitute"}))
		}
	}
	if count := n.at.get("count"); count.exists() && count.text() != "1" {
		t.warn(count, "has no effect: a manifest creates one object")
	}
}

// checkTopology reads the types and requirements of the node templates, and reports the parts without an effect. All
// types are read first, because they determine which mistakes count. The order matters: a node needs its type before
// its requirements are judged, and demoteUnneeded comes last, when all needed types are known.
func (t *model) checkTopology() {
	for _, n := range t.order {
		t.readCopy(n)
		t.readNodeType(n)
	}
	for _, n := range t.order {
		t.judge(n, func() {
			t.faults.addAll(t.entry.doubles[n.name]...)
			t.known(n.at, nodeKeys)
			t.readRequirements(n)
		})
	}
	t.warnOfSections()
	t.checkForeign()
	t.demoteUnneeded()
}

// judge checks a node template. Mistakes in nodes that are not Kubernetes objects are warnings. A node of an unknown
// type may be meant as a Kubernetes object, so its mistakes count.
func (t *model) judge(n *template, check func()) {
	if n.line != nil && !n.kubernetes {
		t.unneeded(check)
		return
	}
	check()
}

// checkForeign rejects nodes that are not Kubernetes objects, or leaves them out. If there are no other nodes, the
// error lists their types.
//
//	all nodes are foreign, Validate ignores them    a warning
//	all nodes are foreign                           an error with their types
//	some are, and options ignore them               a warning for each
//	some are                                        an error for each
func (t *model) checkForeign() {
	var foreign []*template
	counts := map[string]int{}
	for _, n := range t.order {
		if n.line != nil && !n.kubernetes {
			foreign = append(foreign, n)
			counts[n.typeName]++
		}
	}
	nodes := t.entry.topology().get("node_templates")
	switch {
	case len(foreign) == 0:
	case len(foreign) == len(t.order) && t.lenient && t.options.IgnoreForeignNodes:
		t.warn(nodes, "none of the node templates is a Kubernetes object: there is nothing to translate")
	case len(foreign) == len(t.order):
		t.faults.add(nodes, ForeignNode, "none of the node templates is a Kubernetes object, but %s: derive your node types from %s (docs/tosca.md, \"Nodes of other types\")", countsText(counts), KubernetesObject)
	default:
		for _, n := range foreign {
			t.foreign(n)
		}
	}
}

// countsText returns "2 of type a, 1 of b", the most frequent first.
func countsText(counts map[string]int) string {
	const most = 10
	names := keysOf(counts)
	slices.SortStableFunc(names, func(a, b string) int { return counts[b] - counts[a] })
	var parts []string
	for i, name := range names {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d other types", len(names)-most))
			break
		}
		of := "of"
		if i == 0 {
			of = "of type"
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", counts[name], of, cut(name)))
	}
	return strings.Join(parts, ", ")
}

// readCopy sets the template that another one copies. A copy of a copy is an error, so that no loop is possible. A copy
// inherits the keys of its original that it does not set itself. Keys are not merged: properties replace all
// properties.
func (t *model) readCopy(n *template) {
	p := n.at.get("copy")
	if !p.exists() {
		return
	}
	original := t.templates[p.text()]
	switch {
	case original == nil:
		t.noTemplate(p)
	case original == n || original.at.get("copy").exists():
		t.faults.add(p, InvalidShape, "%s is itself a copy: use the original", quote(p.text()))
	default:
		n.original = original.at
	}
}

// readNodeType sets the type of a node template. A type of a Kubernetes object is needed, so its mistakes count. A copy
// without a type has that of its original. An unknown type leaves line nil: the node is neither rendered nor foreign.
func (t *model) readNodeType(n *template) {
	p := n.get("type")
	if !p.exists() || p.isNull() {
		if !n.at.get("copy").exists() {
			t.faults.add(n.at, MissingRequiredKeyname, "type is missing")
		}
		return
	}
	var ok bool
	if n.typeName, ok = t.faults.wantText(p); !ok {
		return
	}
	d := t.find(p.file, nodeTypes, n.typeName)
	if d == nil {
		t.faults.add(p, InvalidType, "the node type %s is not known%s", quote(n.typeName), t.notImported(p.file, nodeTypes, n.typeName))
		return
	}
	n.line = t.lineage(d, true)
	n.kubernetes = slices.ContainsFunc(n.line, (*definition).isManifest)
	n.schemas = t.propertiesOf(n.line)
	if n.kubernetes {
		t.need(n.line)
		t.checkPropertyNames(n)
		t.checkFound(n)
	}
}

// foreign rejects a node that is not a Kubernetes object, or leaves it out.
func (t *model) foreign(n *template) {
	if t.options.IgnoreForeignNodes {
		t.warn(n.at, "skipped: its type %s is not a Kubernetes object", n.typeName)
		return
	}
	t.faults.add(n.get("type"), ForeignNode, "the node %s has type %s, and only Kubernetes objects can be translated: %s and types derived from it; to skip other nodes, set ignoreForeignNodes (docs/tosca.md, \"Nodes of other types\")",
		n.name, n.typeName, KubernetesObject)
}

// checkPropertyNames rejects properties that the type does not declare. spec is always allowed.
func (t *model) checkPropertyNames(n *template) {
	p := n.get("properties")
	if !t.faults.wantMap(p) || isOpaque(n.line) {
		return
	}
	names := func() []string { return append(keysOf(n.schemas), specKey) }
	for _, entry := range p.entries() {
		if name := entry.name(); name != specKey && n.schemas[name] == nil {
			t.faults.add(entry, UnknownProperty, "%s has no property %s%s", n.typeName, quote(name), t.near(name, names))
		}
	}
}
