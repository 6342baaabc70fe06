package observer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// fieldRule is one path of a spec.fields item or of a profile. It is never changed. It is called a rule of the
// compilation, in contrast to Rule, which limits a value.
type fieldRule struct {
	path *FieldPath
	// freed is the list that contains the path, if the path is free. For a free path of a profile, it is ReleasedFree.
	freed Released
	// item is the index in that list, or in Fields.Profiles.
	item int
	said *Node        // nil for a path without a rule
	by   *ProfilePath // nil for a path of the item
}

// list returns the name of the list in spec.fields that contains the path. Do not call it for a path of a profile.
func (r fieldRule) list() string {
	return cmp.Or(string(r.freed), "hold")
}

// isFree reports whether the path releases fields.
func (r fieldRule) isFree() bool { return r.freed != "" }

// isPlain reports whether the path holds fields without a rule, a type or keys.
func (r fieldRule) isPlain() bool { return !r.isFree() && r.said == nil }

// precede compares the precedence of two paths: a longer path decides, and then the one with fewer wildcards.
func precede(a, b fieldRule) int {
	return cmp.Or(cmp.Compare(len(a.path.steps), len(b.path.steps)), cmp.Compare(b.path.wildcards(), a.path.wildcards()))
}

// rules returns the paths in the order in which they are applied: if two match the same field, the one that decides is
// last. A path of the item decides over a path of a profile, because profiles are the default of the cluster, and an
// item is the decision of a user about one resource. Of two paths with equal precedence, a plain one is first: see
// decisions for two others.
func (f *Fields) rules() []fieldRule {
	var rules []fieldRule
	for _, list := range [...]struct {
		freed Released
		paths []*FieldPath
		said  map[int]*Node
	}{{"", f.Hold, f.said}, {ReleasedFree, f.Free, nil}, {ReleasedLeave, f.Leave, nil}, {ReleasedRestore, f.Restore, nil}} {
		for i, path := range list.paths {
			if path != nil {
				rules = append(rules, fieldRule{path: path, freed: list.freed, item: i, said: list.said[i]})
			}
		}
	}
	return append(f.profileRules(), byPrecedence(rules)...)
}

// byPrecedence sorts the rules so that the one that decides is last.
func byPrecedence(rules []fieldRule) []fieldRule {
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(rules, func(a, b fieldRule) int {
		return cmp.Or(precede(a, b), cmp.Compare(rank[a.isPlain()], rank[b.isPlain()]))
	})
	return rules
}

// decisions records the last path of the item that matched a field, by the field. It is nil without rules.
type decisions map[string]fieldRule

// add records the path that matches a field. It returns an error if the previous path has equal precedence, one of them
// has a rule, and the other one has a rule, too, or frees the field: the order of an item decides nothing.
func (d decisions) add(path *Path, rule fieldRule) error {
	if d == nil || rule.by != nil {
		return nil
	}
	at := path.String()
	other, found := d[at]
	d[at] = rule
	if !found || precede(other, rule) != 0 || other.isPlain() || rule.isPlain() || other.isFree() && rule.isFree() {
		return nil
	}
	also := fmt.Sprintf("%s[%d]", other.list(), other.item)
	if other.path.text == rule.path.text {
		return wrongPath{fmt.Errorf("%s has the same path: remove one of them", also)}
	}
	return wrongPath{fmt.Errorf("%s, %s, matches the same field, %s: remove one of them", also, shorten(other.path.text), shorten(at))}
}

// FollowsManifest reports whether the item holds all fields that the manifest sets, except for those that
// it releases.
func (f *Fields) FollowsManifest() bool {
	return !f.OnlyHold || slices.ContainsFunc(f.Hold, (*FieldPath).isAll)
}

// CompileResult is the schema of one resource, compiled from an item of spec.fields.
type CompileResult struct {
	Entry *Schema
	// Missing lists an error for each path that matches no field of this resource. The message suggests a similar
	// field. A path is an error only if it is missing in all resources that the item matches: see inAll in package
	// intent.
	Missing []*FieldPathError
	// Faults are validation errors that do not depend on the resource.
	Faults []*FieldPathError
	// Warnings concern paths that hold nothing, or fields that no client has set.
	Warnings []string
}

// Context is the information about an object in addition to its manifest. Every field can be unset.
type Context struct {
	// Shared is true for a shared object. Its default schema is then PartialEntry.
	Shared bool
	// Written is the schema of the object in spec.observerSchema; nil if it has none. The paths are applied to
	// it instead of a default schema.
	Written *Schema
	// Type is the type of its kind, and Published the type that the API server publishes for it.
	Type, Published *kinds.Node
	// Live is the live object, or nil if it is unknown. A path is valid if the live object contains the field. A field
	// that only a client can still set is a warning.
	Live map[string]any
	// Work is the remaining number of fields that the paths can visit; nil: no limit. It is shared by all objects of
	// an Application, and Compile reduces it.
	Work *int
	// ProfileWork is the same for the paths of profiles.
	ProfileWork *int
}

// MostFieldWork limits how many manifest fields the paths of one Application can visit. Many wildcards
// would otherwise take too long.
const MostFieldWork = 1_000_000

// Compile makes the schema of an object. If the item holds a field that the manifest does not set, or only the fields
// that it names, or if the object has a written schema, the result counts as a schema of the user. If it only releases
// fields of the manifest, the result is a default schema. The compilation starts with a base, and each path changes it:
//
//	item                              base
//	only hold, without "*"            nothing
//	free, or hold with "*"            the default schema of the manifest
//	either, of a shared object        the scalars of the manifest: see PartialEntry
//	on a schema in observerSchema     that schema
//
// Source: docs/semantics.md, "Fields in one line".
func (f *Fields) Compile(object manifest.Object, in Context) CompileResult {
	c := &fieldCompiler{Context: in, schemaSource: schemaSource{fields: f, kind: in.Type}, object: object}
	if len(f.said) > 0 {
		c.decided = decisions{}
	}
	root := c.base()
	// Each path changes the tree that the previous paths have made, so the last one that matches a field decides.
	for _, rule := range f.rules() {
		if !rule.isFree() && rule.path.isAll() {
			c.judgeAll(rule)
			continue
		}
		c.currentPath = currentPath{rule: rule}
		c.apply(&root)
		if root == nil {
			root = &Node{Shape: Map}
		}
		c.judge()
	}
	if in.Written != nil || !f.FollowsManifest() || !in.Shared { // lists of a shared object have no bounds
		closeOver(root, object.Content)
	}
	if in.Written != nil {
		entry := *in.Written
		entry.Root, entry.fields, entry.overWritten, entry.kind, entry.released = root, f, true, in.Type, c.released
		c.out.Entry = &entry
	} else {
		c.out.Entry = &Schema{
			ID: object.ID, APIVersion: object.APIVersion, schemaTree: schemaTree{root},
			Default: f.FollowsManifest() && !c.more, Follows: f.FollowsManifest(), schemaSource: c.schemaSource,
		}
	}
	c.judgeRules(c.out.Entry)
	return c.out
}

// fieldCompiler applies the paths of an item, one after the other. It is used for one object. An error of a path does
// not end the compilation, so that all errors are reported at once.
type fieldCompiler struct {
	Context
	// schemaSource becomes the source of the schema. The paths add to profiled and released, in their order.
	schemaSource
	currentPath

	// object is the manifest.
	object manifest.Object
	out    CompileResult
	more   bool // the schema holds a field that the manifest does not set
	// ruled lists the fields that got a rule, for judgeRules.
	ruled   []ruledField
	decided decisions
}

// base returns the root of the schema that the paths are applied to.
func (c *fieldCompiler) base() *Node {
	switch {
	case c.Written != nil:
		return c.Written.Root.copy()
	case c.fields.FollowsManifest() && c.Shared:
		return PartialEntry(c.object, c.Type).Root
	case c.fields.FollowsManifest():
		return DefaultEntry(c.object).Typed(c.Type).Root
	}
	return &Node{Shape: Map}
}

// currentPath is the path that is being applied. Compile resets it for each path. If named is empty and why is nil, a
// wildcard has matched nothing.
type currentPath struct {
	rule   fieldRule
	named  []*Path // the fields that the current path matches
	learns []*Path // those of them that the manifest does not set
	why    error   // the first reason why it matches nothing
}

// judgeAll reports errors for AllFields in the hold list.
func (c *fieldCompiler) judgeAll(rule fieldRule) {
	switch {
	case rule.said != nil:
		c.out.Faults = append(c.out.Faults, c.fields.Fault("hold", rule.item, "* cannot have a rule: give the rule to a path"))
	case c.Written != nil:
		c.out.Faults = append(c.out.Faults, c.fields.Fault("hold", rule.item,
			"* would hold all fields of the manifest, but observerSchema[%d] lists those of %s: name further fields, or remove that schema", c.Written.Position, c.object.ID))
	}
}

// judge reports errors and warnings for the path that was just applied.
//
//	why          named     result
//	wrongPath    any       an error for every resource
//	any other    none      Missing
//	nil          none      a warning, if the path holds
//	any          some      warnings about fields that no client has set
func (c *fieldCompiler) judge() {
	c.trace()
	if c.rule.by != nil {
		c.judgeProfile()
		return
	}
	fault := func(err error) *FieldPathError {
		return c.fields.Fault(c.rule.list(), c.rule.item, "%s: %s", shorten(c.rule.path.text), err)
	}
	_, isWrong := errors.AsType[wrongPath](c.why)
	switch {
	case isWrong:
		c.out.Faults = append(c.out.Faults, fault(c.why))
		return
	// Another resource of the same item may have the field, so the caller decides whether this is an error.
	case len(c.named) == 0 && c.why != nil:
		c.out.Missing = append(c.out.Missing, fault(c.why))
		return
	case len(c.named) == 0 && !c.rule.isFree():
		c.out.Warnings = append(c.out.Warnings, fault(errors.New("holds nothing: the manifest does not set the field")).Error())
	}
	if isStatus(c.rule.path.steps[0].key()) {
		return
	}
	for _, path := range c.learns {
		c.more = true
		if c.Live == nil {
			continue
		}
		if _, there := ValueAt(c.Live, path); !there {
			c.out.Warnings = append(c.out.Warnings, fault(fmt.Errorf(
				"neither the manifest nor the live object has %s: Holdfast learns the first value that a client writes", path)).Error())
		}
	}
}

// wrongPath is the error of a path that is invalid for every resource. Other errors mean only that this resource has no
// such field. Such as a path that identifies the object, or that leads into a field with a rule.
type wrongPath struct{ error }

// apply applies the current path to the root of a schema.
func (c *fieldCompiler) apply(root **Node) {
	c.applyAt(root, cursor{value: c.object.Content, set: true, t: c.Type, published: c.Published}, c.rule.path.steps)
}

// applyAt applies a path to a node: it adds or removes leaves. The node is nil if nothing is held there. It replaces
// *node and does not change the node itself, which a shared schema may contain. A leaf holds everything below it. To
// change a part of it, the leaf is replaced by the nodes of its value first. To hold a part of it changes nothing, and
// is only walked to find errors.
func (c *fieldCompiler) applyAt(node **Node, p cursor, steps []pathStep) {
	if c.charge(1) {
		return
	}
	if len(steps) == 0 {
		c.applyField(node, p)
		return
	}
	if p.set && !isContainer(p.value) {
		c.miss(fmt.Errorf("%s is a single value, without fields below it", p.path))
		return
	}
	if *node != nil && (*node).Shape == Leaf {
		if (*node).Rule != nil {
			c.why = wrongPath{fmt.Errorf("lies within %s, which has a rule as one value: give rules to its fields", p.path)}
			return
		}
		var below *Node // discarded, because the leaf already holds all of it
		if c.rule.isFree() || c.rule.said != nil {
			if !p.set {
				c.why = wrongPath{fmt.Errorf("lies within %s, which the manifest does not set and which is held as one value", p.path)}
				return
			}
			below = typedBelow(defaultNode(p.value), p.t, false)
			defer func(whole **Node) { *whole = below }(node)
		}
		node = &below
	}
	switch {
	case !p.isList(steps[0]):
		c.keys(node, p, steps)
	case !c.divides(*node, p, steps):
		c.elements(node, p, steps)
	}
}

// charge subtracts n from the remaining work, and reports whether the limit is exceeded. After the limit is exceeded,
// every further path fails with the same error.
func (c *fieldCompiler) charge(n int) bool {
	work, whose := c.Work, "Application"
	if c.rule.by != nil {
		work, whose = c.ProfileWork, "profiles"
	}
	if work == nil {
		return false
	}
	if *work -= n; *work < 0 {
		c.why = wrongPath{fmt.Errorf("the paths of the %s match too many fields: more than %d were checked. Use fewer wildcards", whose, MostFieldWork)}
	}
	return *work < 0
}

// applyField applies the path to a field that it matches.
//
//	the path is in            the manifest    result
//	free, leave or restore    any             nothing is held there
//	hold, with a rule         any             the rule decides: see endRuled
//	hold                      lacks it        a leaf, whose value is learned
//	hold                      sets it         all of the value, as in a default schema
func (c *fieldCompiler) applyField(node **Node, p cursor) {
	c.named = append(c.named, p.path)
	if err := c.decided.add(p.path, c.rule); err != nil {
		c.why = err
		return
	}
	switch {
	case c.rule.isFree():
		*node = nil
	case c.rule.said != nil:
		c.endRuled(node, p)
	case !p.set:
		*node = &Node{Shape: Leaf, Learned: true}
		c.learns = append(c.learns, p.path)
	case p.path.Parent() == nil && p.path.Name() == "metadata":
		*node = defaultMetadata(p.value)
	default:
		*node = typedNode(defaultNode(p.value), p.t)
	}
	if c.Shared && *node != nil {
		unbind(*node)
	}
}

// miss records why the path matches nothing here. The first reason is kept, because it is the one of the first
// branch.
func (c *fieldCompiler) miss(err error) {
	if c.why == nil {
		c.why = err
	}
}

// keys applies the rest of a path to fields of a map. A map in which nothing is held any longer becomes nil. A pattern
// matches only keys of the manifest, and a name can also be one that the manifest does not set.
func (c *fieldCompiler) keys(node **Node, p cursor, steps []pathStep) {
	names, err := c.names(p, steps[0])
	if err != nil {
		c.miss(err)
		return
	}
	m := &Node{Shape: Map}
	if *node != nil {
		m.Fields, m.Keys = (*node).Fields, (*node).Keys
	}
	if c.charge(len(m.Fields)) {
		return
	}
	below := make(map[string]*Node, len(names))
	for _, name := range names {
		child := m.Field(name)
		c.applyAt(&child, p.field(name), steps[1:])
		// The fields are replaced after the loop, all at once, which takes linear time for a wildcard.
		below[name] = child
	}
	m.Fields = withChildren(m.Fields, below)
	if more := c.rule.releasedKeys(m, names, steps); len(more) > 0 {
		c.freeKeys(m, more)
	}
	switch {
	case len(m.Fields) > 0 || m.Keys != nil:
		*node = m
	case *node != nil && len((*node).Fields) > 0:
		*node = nil // do not remove an empty map: the schema observes that it exists
	}
}
