package observer

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"holdfast.dev/holdfast/internal/suggest"
)

// keysText is the key of an item of hold that closes a map.
const keysText = "keys"

// ruleTexts are what an item of hold calls the parts of a rule.
var ruleTexts = map[string]string{
	"minimum": KeyMinimum, "maximum": KeyMaximum, "oneOf": KeyOneOf, "pattern": KeyPattern, "rule": KeyRule, "mode": KeyMode,
}

// AddRule gives a path of hold the rule that stands beside it, or what closes its map. It
// returns what is wrong with that; the path is left out then.
func (f *Fields) AddRule(item int, said map[string]any) []*FieldPathError {
	p, rule := &parser{secret: f.Kind == "Secret"}, &Rule{}
	var node *Node
	for _, name := range sortedKeys(said) {
		at := (*Path)(nil).Field(name)
		switch key := ruleTexts[name]; {
		case key != "":
			p.rulePart(rule, at, key, said[name])
		case name == keysText:
			node = &Node{Shape: Map, Keys: p.keyLists(at, said[name])}
		default:
			p.fault(at, "is no rule%s", suggest.DidYouMean(name, append(slices.Sorted(maps.Keys(ruleTexts)), keysText)))
		}
	}
	conflict := rule.conflict("minimum", "maximum")
	switch {
	case len(p.faults) > 0:
	case node != nil && len(said) > 1:
		p.fault(nil, "closes a map, and has a rule for one value: give them to two paths")
	case conflict != "":
		p.fault(nil, "%s", conflict)
	case node == nil:
		node = &Node{Shape: Leaf, Rule: rule}
	}
	if len(p.faults) == 0 && rule.Mode == ModeHold {
		return nil // as the path alone
	}
	if len(p.faults) == 0 {
		if f.said == nil {
			f.said = map[int]*Node{}
		}
		f.said[item] = node
		return nil
	}
	f.Hold[item] = nil
	var faults []*FieldPathError
	for _, err := range p.faults {
		var fault *ValidationError
		errors.As(err, &fault)
		text := fault.Message
		if fault.Path != "" {
			text = shorten(fault.Path) + ": " + text
		}
		faults = append(faults, f.Fault("hold", item, "%s", text))
	}
	return faults
}

// ruledField is a field that has a rule.
type ruledField struct {
	by   fieldRule
	rule *Rule
	p    cursor
}

// endRuled carries out a path that has a rule, or closes a map.
func (c *fieldCompiler) endRuled(node **Node, p cursor) {
	if c.rule.said.Keys != nil {
		c.close(node, p)
		return
	}
	rule := c.rule.said.Rule
	if text := (&parser{secret: c.fields.Kind == "Secret"}).noRuleFor(p.path, rule); text != "" {
		c.why = wrongPath{fmt.Errorf("%s %s", p.path, text)}
		return
	}
	*node = &Node{Shape: Leaf, Rule: rule}
	c.ruled = append(c.ruled, ruledField{c.rule, rule, p})
}

// close closes the map that a path names, and leaves what is held of it.
func (c *fieldCompiler) close(node **Node, p cursor) {
	_, isMap := p.value.(map[string]any)
	if text := noKeysFor(p.path); text != "" {
		c.why = wrongPath{errors.New(text)}
		return
	}
	if p.set && !isMap || !p.set && p.t != nil && p.t.List != "" {
		c.why = wrongPath{fmt.Errorf("%s is no map, and only the keys of a map can be closed", p.path)}
		return
	}
	closed := &Node{Shape: Map, Keys: c.rule.said.Keys.copy()}
	switch {
	case *node == nil:
	case (*node).Shape == Map:
		closed.Fields = (*node).Fields
	case p.set:
		closed.Fields = defaultNode(p.value).Fields
	}
	*node = closed
}

// freeKeys leaves keys of a closed map that are freed to everybody.
func (c *fieldCompiler) freeKeys(m *Node, names []string, steps []pathStep) {
	if m.Keys == nil || !c.rule.free {
		return
	}
	var more []string
	if len(steps) == 1 {
		more = append(more, steps[0].key())
	}
	for _, name := range names {
		if m.Field(name) == nil && len(steps) > 1 {
			more = append(more, name)
		}
	}
	keys := m.Keys.copy()
	for _, key := range more {
		if !slices.Contains(keys.Free, key) {
			keys.Free = append(slices.Clip(keys.Free), key)
		}
	}
	if len(keys.Free) > maxKeyPatterns {
		c.why = wrongPath{fmt.Errorf("frees more than %d keys of a map that is closed", maxKeyPatterns)}
		return
	}
	m.Keys = keys
}

// judgeRules refuses a manifest that is outside of its own rules.
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

// has reports whether the entry has a rule at a path: a longer path may have freed it.
func (e *Schema) has(path *Path, rule *Rule) bool {
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

// HasRules reports whether a leaf of the entry has a rule.
func (e *Schema) HasRules() bool { return e.Root.hasRules() }

func (n *Node) hasRules() bool {
	switch n.Shape {
	case Map:
		return slices.ContainsFunc(n.Fields, func(f Field) bool { return f.Node.hasRules() })
	case Sequence:
		return slices.ContainsFunc(n.List.Elements, (*Node).hasRules)
	}
	return n.Rule != nil
}
