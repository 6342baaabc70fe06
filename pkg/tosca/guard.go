package tosca

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
)

// guard checks a parsed file before any other code walks through it: its depth and size with all aliases followed, that
// no alias is within its own anchor, that keys are unique strings, and that tags are YAML's own. After it, every walk
// through the file ends. At a limit it ends the translation, because every further walk could take too long. Otherwise
// it reports all mistakes. The grammar is not known yet, so it reads the version itself.
func (t *session) guard(f *file, root *yaml.Node) {
	nameRequirements(root)
	f.doubles = map[string][]*Error{}
	g := guard{t: t, f: f, anchors: map[*yaml.Node]*extent{}}
	version := fileNode{node: root}.get(versionKey).text()
	g.forgiving = !versions[version].dollar()
	g.measure(root, 1)
}

// nameRequirements converts the keys [name, index] to strings, which the mappings of requirements can have in TOSCA
// 2.0. Anywhere else, a key must be a string.
func nameRequirements(root *yaml.Node) {
	at := fileNode{node: root}.get("service_template").get("substitution_mappings").get("requirements")
	for _, element := range at.elements() {
		if !element.isMap() {
			continue
		}
		for i := 0; i < len(element.node.Content); i += 2 {
			key := element.node.Content[i]
			if key.Kind != yaml.SequenceNode || len(key.Content) != 2 || key.Content[0].Kind != yaml.ScalarNode || key.Content[1].Kind != yaml.ScalarNode {
				continue
			}
			key.Kind, key.Tag, key.Style = yaml.ScalarNode, manifest.TagStr, yaml.DoubleQuotedStyle
			key.Value, key.Content = key.Content[0].Value+" "+key.Content[1].Value, nil
		}
	}
}

// extent is how large a value is with all its aliases followed. Its depth counts the maps and lists around the deepest
// value: 0 for a scalar.
type extent struct{ nodes, depth int }

// guard walks through one file, and follows no alias: it adds the measured size of the anchor instead. So the walk
// takes linear time.
type guard struct {
	// t counts the nodes so far, which all files of the translation share.
	t *session
	f *file
	// anchors records the sizes of the maps and lists with an anchor; nil while the walk is in one.
	anchors map[*yaml.Node]*extent
	// forgiving is true if the last of two keys counts in sections with types, as in the parsers of TOSCA 1.x. forgives
	// is true while the walk is in one.
	forgiving, forgives bool
	// path lists the first keys that lead to the value.
	path [3]string
}

// measure returns the size of a value, and checks everything in it. It removes duplicate keys that do not count. depth
// is the number of maps and lists around the value, plus 1. For [*a, *a], it counts the list, and the anchor twice,
// although the tree has only three nodes.
func (g *guard) measure(n *yaml.Node, depth int) extent {
	if n.Kind == yaml.AliasNode {
		return g.alias(n, depth)
	}
	g.t.nodes++
	if g.t.nodes > maxNodes {
		g.t.haltAt(g.place(n), LimitExceeded, "the files have more than %d values", maxNodes)
	}
	g.checkTag(n)
	if n.Kind == yaml.ScalarNode {
		return extent{1, 0}
	}
	if depth > maxNesting {
		g.t.haltAt(g.place(n), LimitExceeded, tooDeep, maxNesting)
	}
	if n.Anchor != "" {
		g.anchors[n] = nil
	}
	var doubles []int
	if n.Kind == yaml.MappingNode {
		doubles = g.checkKeys(n, g.nodeTemplate(depth))
	}
	size, forgives := extent{1, 0}, g.forgives
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			g.forgives = g.isForgiving(n.Content[i-1].Value, depth, forgives)
			if depth <= len(g.path) {
				g.path[depth-1] = n.Content[i-1].Value
			}
		}
		below := g.measure(child, depth+1)
		size.nodes, size.depth = size.nodes+below.nodes, max(size.depth, below.depth)
		if size.nodes > maxExpanded {
			g.t.haltAt(g.place(n), LimitExceeded, "the file has more than %d values once its aliases are followed", maxExpanded)
		}
	}
	g.forgives = forgives
	for _, i := range slices.Backward(doubles) {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
	size.depth++
	if n.Anchor != "" {
		measured := size
		g.anchors[n] = &measured
	}
	return size
}

// alias returns the size of the value that an alias refers to. Its anchor is before it, so it is measured already.
func (g *guard) alias(n *yaml.Node, depth int) extent {
	size, isContainer := g.anchors[n.Alias]
	switch {
	case !isContainer:
		return extent{1, 0}
	case size == nil:
		g.t.haltAt(g.place(n), InvalidYAML, "the anchor %s contains this alias of it", quote(n.Value))
	}
	if depth+size.depth > maxNesting {
		g.t.haltAt(g.place(n), LimitExceeded, tooDeep, maxNesting)
	}
	return *size
}

// tooDeep is the message for a value below the maximum depth, whether or not an alias leads there.
const tooDeep = "nested deeper than %d levels"

// place returns the position of a node. The path is not known here, so messages have none.
func (g *guard) place(n *yaml.Node) fileNode { return fileNode{file: g.f, at: n} }

// checkTag reports a tag that is not one of YAML's own, or does not agree with the value. The library sets the tags of
// maps and lists, but only resolves those of scalars on demand. A custom tag would have a meaning for another tool, and
// dropping it would change the value.
func (g *guard) checkTag(n *yaml.Node) {
	tag := n.ShortTag()
	kind, known := kindOfTag[tag]
	switch {
	case known && n.Kind == kind, n.Kind == yaml.ScalarNode && tag == manifest.TagMerge:
	case known:
		g.t.faults.add(g.place(n), InvalidYAML, "%s", "the value does not have the form that its tag "+quote(tag)+" says")
	case tag == manifest.TagBinary:
		g.t.faults.add(g.place(n), InvalidYAML, "the tag !!binary is not supported: write the base64 text without it")
	default:
		g.t.faults.add(g.place(n), InvalidYAML, "the tag %s is not supported: a template cannot have custom YAML types", quote(n.Tag))
	}
}

// kindOfTag lists the tags that a value can have, and the kind of its node.
var kindOfTag = map[string]yaml.Kind{
	manifest.TagMap: yaml.MappingNode, manifest.TagSeq: yaml.SequenceNode,
	manifest.TagStr: yaml.ScalarNode, manifest.TagInt: yaml.ScalarNode, manifest.TagFloat: yaml.ScalarNode,
	manifest.TagBool: yaml.ScalarNode, manifest.TagNull: yaml.ScalarNode, manifest.TagTimestamp: yaml.ScalarNode,
}

// isForgiving reports whether duplicate keys are no mistake in the value of a key: in types of TOSCA 1.x, but not in
// values that can become part of a manifest. Several published profiles have a key twice in a type. In a default, the
// second value would become part of a manifest, so a duplicate is an error there.
func (g *guard) isForgiving(key string, depth int, outside bool) bool {
	return (depth == 1 && g.forgiving && isSection(key)) || (outside && key != "default" && key != "value")
}

// nodeTemplate returns the name of the node template of TOSCA 1.x that contains a value at that depth, or "". Whether
// the mistakes of the node count is not known yet.
func (g *guard) nodeTemplate(depth int) string {
	if !g.forgiving || depth <= len(g.path) || g.path[0] != "topology_template" || g.path[1] != "node_templates" {
		return ""
	}
	return g.path[2]
}

// checkKeys checks the keys of a map. It returns the indices of duplicate keys that do not count, in ascending order.
//
//	a key that is a list, a map or null     an error
//	a duplicate in a type of TOSCA 1.x      a warning; the last value is used
//	a duplicate in a node of TOSCA 1.x      recorded: an error if the node is a Kubernetes object
//	any other duplicate                     an error
func (g *guard) checkKeys(n *yaml.Node, template string) (doubles []int) {
	var seen map[string]int // where a key is
	if len(n.Content) > 2 {
		seen = make(map[string]int, len(n.Content)/2)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		key := manifest.Target(name)
		switch {
		case manifest.IsMerge(name):
			g.checkMerge(n.Content[i+1])
		case key.Kind != yaml.ScalarNode:
			g.t.faults.add(g.place(name), InvalidYAML, "a key must be text, not a list or a map")
		case key.ShortTag() == manifest.TagNull:
			g.t.faults.add(g.place(name), InvalidYAML, "a key must be text, not null: put it in quotes")
		}
		text := key.Value
		if manifest.IsMerge(name) {
			text = "<<"
		}
		if first, twice := seen[text]; twice && key.Kind == yaml.ScalarNode {
			message := fmt.Sprintf("duplicate key %s, first on line %d", quote(text), n.Content[first].Line)
			switch {
			case template != "":
				g.f.doubles[template] = append(g.f.doubles[template], g.t.faults.errorAt(g.place(name), DuplicateKey, "%s", message))
			case !g.forgives:
				g.t.faults.add(g.place(name), DuplicateKey, "%s", message)
				continue
			default:
				g.t.warn(g.place(name), "%s: the last value is used", message)
			}
			doubles = append(doubles, first)
		}
		if seen != nil {
			seen[text] = i
		}
	}
	slices.Sort(doubles)
	return doubles
}

// checkMerge reports a merge key whose value is not a map or a list of maps.
func (g *guard) checkMerge(value *yaml.Node) {
	sources := []*yaml.Node{value}
	if list := manifest.Target(value); list.Kind == yaml.SequenceNode {
		sources = list.Content
	}
	for _, source := range sources {
		if manifest.Target(source).Kind != yaml.MappingNode {
			g.t.faults.add(g.place(source), InvalidYAML, "the key << needs a map or a list of maps")
		}
	}
}
