package observer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Fields is an entry of spec.fields: which fields of some resources are held.
type Fields struct {
	// Position is the index in spec.fields.
	Position int
	// Kind, and APIVersion and Namespace if they are not empty, say whose; Name may have
	// wildcards.
	APIVersion, Kind, Namespace, Name string
	// Hold and Free are the paths, nil for one that is a mistake. Without OnlyHold, all
	// that the manifest sets is held, too.
	Hold, Free []*FieldPath
	// Leave and Restore are free, too, and say what becomes of them when they are let go.
	Leave, Restore []*FieldPath
	OnlyHold       bool
	// Profiles are paths that are carried out before those of the entry, on all that the
	// manifest sets: what the cluster's owner wishes.
	Profiles []ProfilePath
	// said is what stands beside the paths of hold: a leaf with a rule, or a closed map.
	said map[int]*Node
}

// FieldPathError is one mistake in spec.fields.
type FieldPathError struct {
	// Entry is the position in spec.fields.
	Entry int
	// List is hold, free, leave or restore, and Item the position in it; List is empty for the entry as
	// a whole.
	List string
	Item int
	// Name says whose entry it is.
	Name    string
	Message string
}

// Error is "fields[0].hold[1] (Deployment web): …".
func (f *FieldPathError) Error() string {
	text := fmt.Sprintf("fields[%d]", f.Entry)
	if f.List != "" {
		text += fmt.Sprintf(".%s[%d]", f.List, f.Item)
	}
	return text + " (" + shorten(f.Name) + "): " + f.Message
}

// NoEntry is the Position of what is said of a resource that has no entry in spec.fields.
const NoEntry = -1

// Fault is a mistake in the entry, or in one path of it.
func (f *Fields) Fault(list string, item int, format string, args ...any) *FieldPathError {
	return &FieldPathError{Entry: f.Position, List: list, Item: item, Name: f.Kind + " " + f.Name, Message: fmt.Sprintf(format, args...)}
}

// fieldRule is one path of an entry.
type fieldRule struct {
	path *FieldPath
	free bool
	// freed is the list of a path that is free.
	freed Released
	item  int
	said  *Node        // nil for a path alone
	by    *ProfilePath // nil for a path of the entry
}

func (r fieldRule) list() string {
	if r.free {
		return string(r.freed)
	}
	return "hold"
}

// rank says which of two paths to one field decides: the higher one.
func (r fieldRule) rank() int {
	switch {
	case r.free:
		return 2
	case r.said != nil:
		return 1
	}
	return 0
}

// rules are the paths in the order in which they are carried out: where two speak of one
// field, the one that decides comes last. That is the one of the entry, if the other is of a
// profile; else the longer one; of two of one length the one with fewer wildcards, else one
// with a rule, and else that of free.
func (f *Fields) rules() []fieldRule {
	var rules []fieldRule
	for i, path := range f.Hold {
		if path != nil {
			rules = append(rules, fieldRule{path: path, item: i, said: f.said[i]})
		}
	}
	return append(f.profileRules(), byPrecedence(append(rules, f.freed()...))...)
}

// byPrecedence has the rule that decides behind the others.
func byPrecedence(rules []fieldRule) []fieldRule {
	slices.SortStableFunc(rules, func(a, b fieldRule) int {
		return cmp.Or(cmp.Compare(len(a.path.steps), len(b.path.steps)), cmp.Compare(b.path.wildcards(), a.path.wildcards()), a.rank()-b.rank())
	})
	return rules
}

// FollowsManifest reports whether the entry begins with all that the manifest sets.
func (f *Fields) FollowsManifest() bool {
	return !f.OnlyHold || slices.ContainsFunc(f.Hold, (*FieldPath).isAll)
}

// CompileResult is what an entry of spec.fields makes of the schema of one resource.
type CompileResult struct {
	Entry *Schema
	// Missing has what is wrong with each path that names nothing here; the message names
	// the nearest one that exists.
	Missing []*FieldPathError
	// Faults are mistakes whatever other resources there are.
	Faults []*FieldPathError
	// Warnings are about paths that hold nothing, or what nobody has set.
	Warnings []string
}

// Context is what is known of an object beside its manifest; all of it may be nil.
type Context struct {
	// Shared is true for an object that is not owned: its default schema is that of
	// PartialEntry.
	Shared bool
	// Type is its kind, Published what the API server says of that.
	Type, Published *kinds.Node
	Live            map[string]any
	// Work is how much may be looked at yet; nil: without limit.
	Work *int
	// ProfileWork is the same for the paths of profiles.
	ProfileWork *int
}

// MostFieldWork is how many fields of manifests the paths of one Application may look at:
// with many wildcards these are more than anybody waits for.
const MostFieldWork = 1_000_000

// Compile makes the schema of an object. What the entry holds alone it holds as an entry of the user; what is freed of all
// that the manifest sets leaves a default entry.
// Source: docs/semantics.md, "Fields in one line".
func (f *Fields) Compile(object manifest.Object, in Context) CompileResult {
	c := &fieldCompiler{fields: f, object: object, t: in.Type, live: in.Live}
	root := &Node{Shape: Map}
	switch {
	case f.FollowsManifest() && in.Shared:
		root = PartialEntry(object, in.Type).Root
	case f.FollowsManifest():
		root = DefaultEntry(object).Typed(in.Type).Root
	}
	for _, rule := range f.rules() {
		if !rule.free && rule.path.isAll() {
			if rule.said != nil {
				c.out.Faults = append(c.out.Faults, f.Fault("hold", rule.item, "* takes no rule: give it to a path"))
			}
			continue
		}
		c.rule, c.learns, c.named, c.why, c.work = rule, nil, nil, nil, in.Work
		if rule.by != nil {
			c.work = in.ProfileWork
		}
		c.applyAt(&root, cursor{value: object.Content, set: true, t: in.Type, published: in.Published}, rule.path.steps)
		if root == nil {
			root = &Node{Shape: Map}
		}
		c.judge()
	}
	if !f.FollowsManifest() || !in.Shared { // lists of a shared object stay open
		root.closeOver(object.Content)
	}
	c.out.Entry = &Schema{
		ID: object.ID, APIVersion: object.APIVersion, Root: root, fields: f, kind: in.Type, profiled: c.profiled, released: c.released,
		Default: f.FollowsManifest() && !c.more, Follows: f.FollowsManifest(),
	}
	c.judgeRules(c.out.Entry)
	return c.out
}

// fieldCompiler carries out the paths of an entry, one after the other.
type fieldCompiler struct {
	fields *Fields
	object manifest.Object
	t      *kinds.Node
	live   map[string]any
	out    CompileResult
	more   bool // something is held that the manifest does not set
	work   *int
	ruled  []ruledField
	// keepsLengths is true for an entry of the user, who has written its lengths.
	keepsLengths bool
	// profiled are the places that paths name, if there are profiles.
	profiled []profileTarget
	released []releasedPath

	rule   fieldRule
	named  []*Path // the places that the path names
	learns []*Path // of these those that the manifest does not set
	why    error   // the first reason why it names nothing
}

// judge says what is wrong with a path that was carried out.
func (c *fieldCompiler) judge() {
	c.trace()
	c.release()
	if c.rule.by != nil {
		c.judgeProfile()
		return
	}
	fault := func(err error) *FieldPathError {
		return c.fields.Fault(c.rule.list(), c.rule.item, "%s: %s", shorten(c.rule.path.text), err)
	}
	var wrong wrongPath
	switch {
	case errors.As(c.why, &wrong):
		c.out.Faults = append(c.out.Faults, fault(c.why))
		return
	case len(c.named) == 0 && c.why != nil:
		c.out.Missing = append(c.out.Missing, fault(c.why))
		return
	case len(c.named) == 0 && !c.rule.free:
		c.out.Warnings = append(c.out.Warnings, fault(errors.New("holds nothing: the manifest sets no such field")).Error())
	}
	if watched(c.rule.path.steps[0].key()) {
		return
	}
	for _, path := range c.learns {
		c.more = true
		if c.live == nil {
			continue
		}
		if _, there := ValueAt(c.live, path); !there {
			c.out.Warnings = append(c.out.Warnings, fault(fmt.Errorf(
				"neither the manifest nor the live object has %s: whoever writes it first is learned from", path)).Error())
		}
	}
}

// wrongPath is a path that is a mistake wherever it is used.
type wrongPath struct{ error }

// cursor is where a path has come to: in the manifest, in the kind, and in what the API
// server says of that.
type cursor struct {
	value        any
	set          bool
	t, published *kinds.Node
	path         *Path
}

func (p cursor) field(name string) cursor {
	m, _ := p.value.(map[string]any)
	v, set := m[name]
	return cursor{v, set, p.t.Field(name), p.published.Field(name), p.path.Field(name)}
}

// isList reports whether a list is there, for a step that comes next.
func (p cursor) isList(next pathStep) bool {
	switch {
	case p.set:
		_, is := p.value.([]any)
		return is
	case p.t != nil:
		return p.t.List != ""
	}
	return p.path != nil && next.isElement()
}

// applyAt carries a path out on a node: it puts leaves there, or takes them out. The node is
// nil where nothing is held.
func (c *fieldCompiler) applyAt(node **Node, p cursor, steps []pathStep) {
	if c.charge(1) {
		return
	}
	if len(steps) == 0 {
		c.applyField(node, p)
		return
	}
	if p.set && !isContainer(p.value) {
		c.miss(fmt.Errorf("%s is a single value, and has nothing below it", p.path))
		return
	}
	if *node != nil && (*node).Shape == Leaf {
		if (*node).Rule != nil {
			c.why = wrongPath{fmt.Errorf("lies within %s, which has a rule as one value: give rules to its fields", p.path)}
			return
		}
		var below *Node // all of it is held
		if c.rule.free || c.rule.said != nil {
			if !p.set {
				c.why = wrongPath{fmt.Errorf("lies within %s, which the manifest does not set and which is held as one value", p.path)}
				return
			}
			below = defaultNode(p.value).typedBelow(p.t, false)
			defer func(whole **Node) { *whole = below }(node)
		}
		node = &below
	}
	if p.isList(steps[0]) {
		c.elements(node, p, steps)
	} else {
		c.keys(node, p, steps)
	}
}

// charge counts the work, and reports whether it is more than is allowed.
func (c *fieldCompiler) charge(n int) bool {
	if c.work == nil {
		return false
	}
	if *c.work -= n; *c.work < 0 {
		whose := "Application"
		if c.rule.by != nil {
			whose = "profiles"
		}
		c.why = wrongPath{fmt.Errorf("the paths of the %s mean too many fields: more than %d are looked at. Use fewer wildcards", whose, MostFieldWork)}
	}
	return *c.work < 0
}

// applyField carries the path out at the place that it names.
func (c *fieldCompiler) applyField(node **Node, p cursor) {
	c.named = append(c.named, p.path)
	switch {
	case c.rule.free:
		*node = nil
	case c.rule.said != nil:
		c.endRuled(node, p)
	case !p.set:
		*node = &Node{Shape: Leaf}
		c.learns = append(c.learns, p.path)
	case p.path.Parent() == nil && p.path.Name() == "metadata":
		*node = defaultMetadata(p.value)
	default:
		*node = defaultNode(p.value).typed(p.t)
	}
}

func (c *fieldCompiler) miss(err error) {
	if c.why == nil {
		c.why = err
	}
}

// keys goes on into fields of a map.
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
		below[name] = child
	}
	m.Fields = withChildren(m.Fields, below)
	c.freeKeys(m, names, steps)
	switch {
	case len(m.Fields) > 0 || m.Keys != nil:
		*node = m
	case *node != nil && len((*node).Fields) > 0:
		*node = nil // but for an empty map, which is held as being there
	}
}

// withChildren are the fields with others in their place, or without those that are nil.
func withChildren(fields []Field, children map[string]*Node) []Field {
	all := make([]Field, 0, len(fields)+len(children))
	for _, f := range fields {
		if _, other := children[f.Name]; !other {
			all = append(all, f)
		}
	}
	for name, child := range children {
		if child != nil {
			all = append(all, Field{name, child})
		}
	}
	slices.SortFunc(all, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// names are the fields of a map that a step means.
func (c *fieldCompiler) names(p cursor, step pathStep) ([]string, error) {
	m, _ := p.value.(map[string]any)
	if !step.isPattern() {
		return c.name(p, m, step.key())
	}
	if c.charge(len(m)) {
		return nil, nil
	}
	var names []string
	for _, name := range sortedKeys(m) {
		if step.matches(name) && !identifies(p.path, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// name is a field of a map, if there is one.
func (c *fieldCompiler) name(p cursor, m map[string]any, name string) ([]string, error) {
	if p.path == nil && name == "stringData" && manifest.IsSecret(c.object.ID.GroupKind()) {
		name = "data" // where the API server keeps it
	}
	path := p.path.Field(name)
	_, set := m[name]
	_, live := ValueAt(c.live, path)
	switch {
	case isMetadata(p.path) && serverOwned(name):
		return nil, wrongPath{fmt.Errorf("%s belongs to the API server and cannot be observed", path)}
	case identifies(p.path, name) && name != "namespace":
		return nil, wrongPath{fmt.Errorf("%s identifies the resource: it is neither held nor free", path)}
	case set, live, !p.t.Forbids(name), p.published != nil && !p.published.Forbids(name):
		return []string{name}, nil
	}
	return nil, c.noField(p, name)
}

// identifies reports whether a field is not for a wildcard: it says which object it is, or
// is the API server's.
func identifies(parent *Path, name string) bool {
	if parent == nil {
		return name == "apiVersion" || name == "kind"
	}
	return isMetadata(parent) && (name == "name" || name == "namespace" || serverOwned(name))
}

func isMetadata(path *Path) bool {
	return path != nil && path.Parent() == nil && path.Name() == "metadata"
}
