package observer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/kinds"
)

// AddRule adds a rule, or the keys of a closed map, to a path of hold. If they are invalid, it returns the validation
// errors and removes the path. said is an item of hold without its path, in decoded JSON:
//
//	{minimum: 1, maximum: 5}    a rule
//	{mode: absent}              a rule
//	{type: quantity}            a type
//	{keys: {hold: ["*"]}}       a closed map or list
//	{mode: hold}                the same as no rule
func (f *Fields) AddRule(item int, said map[string]any) []*FieldPathError {
	p, rule := &parser{secret: f.Kind == "Secret"}, &Rule{}
	var node *Node
	for _, name := range sortedKeys(said) {
		at := (*Path)(nil).Field(name)
		if name == keysText {
			node = &Node{Shape: Map, Keys: p.keyLists(at, said[name])}
			continue
		}
		p.rulePart(rule, at, name, said[name])
	}
	conflict := rule.conflict(said)
	switch {
	case len(p.faults) > 0:
	case conflict != "":
		p.fault(nil, "%s", conflict)
	case node == nil:
		node = rule.node()
	}
	if len(p.faults) == 0 {
		if f.said == nil {
			f.said = map[int]*Node{}
		}
		if rule.Mode != ModeHold { // the same as the path without a rule
			f.said[item] = node
		}
		return nil
	}
	f.Hold[item] = nil
	var faults []*FieldPathError
	for _, err := range p.faults {
		fault, _ := errors.AsType[*ValidationError](err)
		text := fault.Message
		if fault.Path != "" {
			text = shorten(fault.Path) + ": " + text
		}
		faults = append(faults, f.Fault("hold", item, "%s", text))
	}
	return faults
}

// ruledField is a field that got a rule. judgeRules checks the manifest's value when all paths are applied. The rule in
// it is the identity of the field: if another path replaces the leaf, has no longer finds the rule.
type ruledField struct {
	by   fieldRule
	rule *Rule
	// p is the position of the field in the manifest.
	p cursor
}

// endRuled applies the rule, type, or closed keys, at the field that the path matches. It replaces whatever a shorter
// path held there. An error belongs to the path, not to the resource.
func (c *fieldCompiler) endRuled(node **Node, p cursor) {
	said := c.rule.said
	if said.Shape == Map {
		c.close(node, p)
		return
	}
	rule := said.Rule
	if text := noRuleFor(p.path, cmp.Or(rule, &Rule{}), c.fields.Kind == "Secret"); text != "" {
		c.why = wrongPath{fmt.Errorf("%s %s", p.path, text)}
		return
	}
	switch {
	case said.Shape == Sequence:
		c.declareSet(node, p)
		return
	case said.Quantity:
		c.declareQuantity(node, p)
		return
	}
	*node = &Node{Shape: Leaf, Rule: rule}
	c.ruled = append(c.ruled, ruledField{c.rule, rule, p})
}

// close closes the map or list that a path matches, and keeps its held fields and elements. A closed leaf is divided
// into its fields first, because a leaf already holds every key.
func (c *fieldCompiler) close(node **Node, p cursor) {
	if text := noKeysFor(p.path); text != "" {
		c.why = wrongPath{errors.New(text)}
		return
	}
	closed := emptyContainer(p)
	if closed == nil {
		c.why = wrongPath{fmt.Errorf("%s is not a map or a list with keys, and only these can be closed", p.path)}
		return
	}
	if p.set && (*node == nil && closed.Shape == Sequence || *node != nil && (*node).Shape == Leaf) {
		*node = typedBelow(defaultNode(p.value), p.t, false)
	}
	if *node != nil && (*node).Shape == closed.Shape {
		closed.Fields, closed.List = (*node).Fields, (*node).List
	}
	closed.Keys = c.rule.said.Keys.copy()
	*node = closed
	if free := closed.Keys.Free; len(free) > 0 {
		c.why = wrongPath{fmt.Errorf("keys has no free: add %s to free of the item", strings.Join(freePaths(c.rule.path, p.t, free), ", "))}
	}
}

// freePaths returns the paths that free keys of a map, or list elements, which keys of a closed list name by their
// values.
func freePaths(closed *FieldPath, t *kinds.Node, patterns []string) []string {
	paths := make([]string, len(patterns))
	for i, pattern := range patterns {
		name := pattern
		if t != nil && t.List == kinds.Map {
			values := strings.Split(pattern, ",")
			for k := range min(len(values), len(t.Keys)) {
				values[k] = t.Keys[k] + "=" + values[k]
			}
			name = strings.Join(values, ",")
		}
		paths[i] = closed.text + "[" + name + "]"
	}
	return paths
}

// declareSet holds each element of the manifest's list by its value. An element is a leaf: it is held as a whole, at
// any index. Other clients can add elements.
func (c *fieldCompiler) declareSet(node **Node, p cursor) {
	l, isList := p.value.([]any)
	switch {
	case p.set && !isList:
		c.why = wrongPath{fmt.Errorf("%s is %s, and only a list can be a set: remove the type", p.path, describeShape(p.value))}
		return
	case p.t != nil && p.t.List == kinds.Map:
		c.why = wrongPath{fmt.Errorf("%s is a list whose elements have keys (%s), so other clients can add elements without a type: remove the type",
			p.path, strings.Join(p.t.Keys, ", "))}
		return
	case !p.set:
		c.named = nil // nothing is held yet
	}
	list := *c.rule.said.List
	for range l {
		list.Elements = append(list.Elements, plainLeaf)
	}
	*node = &Node{Shape: Sequence, List: &list}
}

// declareQuantity holds a value as an amount. A value that the manifest does not set is learned.
func (c *fieldCompiler) declareQuantity(node **Node, p cursor) {
	switch text := noQuantity(p.value); {
	case !p.set:
		c.learns = append(c.learns, p.path)
	case text != "":
		c.why = wrongPath{fmt.Errorf("%s %s", p.path, text)}
		return
	}
	*node = c.rule.said
}

// noQuantity returns the reason why a manifest's value is not an amount, or "" if it is one.
func noQuantity(value any) string {
	if _, ok := compareAmounts(value, value); ok {
		return ""
	}
	return fmt.Sprintf("is %s in the manifest, and no amount such as 1Gi: remove the type, or give it to single values", describeShape(value))
}

// emptyContainer returns a node without fields or elements for a map, or for a list with keys. It returns nil
// for anything else.
func emptyContainer(p cursor) *Node {
	_, isMap := p.value.(map[string]any)
	_, isList := p.value.([]any)
	switch {
	case (isList || !p.set) && (&List{}).ByIdentity(p.t):
		return &Node{Shape: Sequence, List: &List{}}
	case isMap, !p.set && (p.t == nil || p.t.List == ""):
		return &Node{Shape: Map}
	}
	return nil
}

// releasedKeys returns the keys that the path releases in a closed map. A path that ends at the key releases the key or
// pattern itself. A path below a key releases the key if nothing in it is held any longer.
func (r fieldRule) releasedKeys(m *Node, names []string, steps []pathStep) (more []string) {
	if m.Keys == nil || !r.isFree() {
		return nil
	}
	if len(steps) == 1 {
		more = append(more, steps[0].key())
	}
	for _, name := range names {
		if m.Field(name) == nil && len(steps) > 1 {
			more = append(more, name)
		}
	}
	return more
}

// freeKeys adds keys to the free keys of a closed map or list, which would remove them otherwise.
func (c *fieldCompiler) freeKeys(m *Node, more []string) {
	// The keys may be shared with the parsed rule.
	keys := m.Keys.copy()
	keys.Free = union(slices.Clip(keys.Free), more)
	if len(keys.Free) > maxKeyPatterns {
		c.why = wrongPath{fmt.Errorf("frees more than %d keys of a closed map", maxKeyPatterns)}
		return
	}
	m.Keys = keys
}

// judgeRules reports manifest values that violate their own rules. It runs last, because a longer path can replace or
// release a field with a rule. A manifest value that its own rule forbids could never be in sync.
func (c *fieldCompiler) judgeRules(entry *Schema) {
	around := NewRuleContext(func() map[string]any { return entry.Object(nil, c.object.Content, c.object.Content) })
	for _, r := range c.ruled {
		if !r.p.set || !entry.has(r.p.path, r.rule) {
			continue
		}
		if text := r.rule.misses(r.p.value, around); text != "" {
			c.out.Faults = append(c.out.Faults, c.fields.Fault(r.by.list(), r.by.item, "%s %s", shorten(r.p.path.String()), text))
		}
	}
}

// has reports whether the schema has a rule at a path. A longer path may have released the field.
func (e *schemaTree) has(path *Path, rule *Rule) bool {
	node := e.Root
	for _, step := range path.Chain() {
		switch {
		case node == nil:
			return false
		case step.IsElement():
			node = node.element(step.Index())
		default:
			node = node.child(step.Name())
		}
	}
	return node != nil && node.Rule == rule
}

// HasRules reports whether any leaf of the schema has a rule.
func (e *schemaTree) HasRules() bool { return e.Root.hasRules() }
