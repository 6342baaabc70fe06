package delta_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

var thing = observertest.Type()

// drawn is a resource to compare: a schema, a desired state and a live object.
type drawn struct {
	in   delta.Input
	spec map[string]any
}

func draw(t *rapid.T, o observertest.Options) drawn {
	spec := observertest.Spec(t)
	object := observertest.Manifest(spec)
	entry := observer.DefaultEntry(object).Typed(thing)
	if rapid.Bool().Draw(t, "user's") {
		entry = observertest.Entry(t, spec, o)
	}
	live := observertest.Object(observertest.Mutate(t, spec))
	desired := entry.Desired(thing, object.Content, nil)
	entry.Learn(thing, desired, object.Content, observertest.Object(observertest.Mutate(t, spec))) // earlier
	return drawn{spec: spec, in: delta.Input{
		Entry: entry, Type: thing, Desired: desired, Manifest: object.Content, Live: live,
	}}
}

func (d drawn) String() string {
	show := func(v any) string { raw, _ := json.Marshal(v); return string(raw) }
	return fmt.Sprintf("schema  %s\ndesired %s\nwritten %s\nlive    %s\nbefore  %s",
		show(d.in.Entry.Raw()), show(d.in.Desired), show(d.in.Manifest), show(d.in.Live), show(d.in.Previous))
}

// corrected returns the live object after the patch, applied as an API server does.
func corrected(t *rapid.T, d drawn, c delta.Comparison) map[string]any {
	guards, ops := c.Patch("u-1", "1")
	raw, err := json.Marshal(slices.Concat(guards, ops))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(d.in.Live)
	if err != nil {
		t.Fatal(err)
	}
	patched, err := patch.Apply(document)
	if err != nil {
		t.Fatalf("%v\npatch %s\n%s", err, raw, d)
	}
	after, err := manifest.DecodeJSON(patched)
	if err != nil {
		t.Fatal(err)
	}
	return after
}

func TestComparingAStateWithItselfFindsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{})
		d.in.Live = d.in.Desired
		if c := delta.Compare(d.in); len(c.Differences) > 0 {
			t.Fatalf("%v\n%s", c.Differences, d)
		}
	})
}

func TestACorrectedObjectHasNoDrift(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{Bounded: true})
		c := delta.Compare(d.in)
		before := d.String()
		after := corrected(t, d, c)
		if before != d.String() {
			t.Fatal("an input was changed")
		}
		_, ops := c.Patch("u-1", "1")
		d.in.Live = after
		again := delta.Compare(d.in)
		if len(again.Differences) > 0 && !slices.ContainsFunc(again.Differences, func(d delta.Difference) bool { return d.Desired.Set }) {
			// The schema of an element beyond the manifest applies to a foreign element only after all
			// of our missing elements are back. Then only a surplus can remain.
			d.in.Live = corrected(t, d, again)
			again = delta.Compare(d.in)
		}
		if len(again.Differences) > 0 {
			t.Fatalf("still %v\npatch was %v\nbefore:\n%s\nafter:\n%s", again.Differences, ops, before, d)
		}
	})
}

func TestACorrectionEndsInsideItsRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{Bounded: true, Known: true, Rules: true})
		if rapid.Bool().Draw(t, "was written before") {
			d.in.Previous = observer.CopyMap(d.in.Desired)
		}
		c := delta.Compare(d.in)
		before := d.String()
		d.in.Live = corrected(t, d, c)
		again := delta.Walk(d.in, func(f delta.Field) {
			isReportOnly := f.Difference != nil && f.Difference.ReportOnly
			if f.Rule != nil && f.Live.Set && !f.Rule.Allows(f.Live.Any, observer.NewRuleContext(nil)) && !isReportOnly {
				t.Fatalf("%s is outside of its rule, %s\nbefore:\n%s\nafter:\n%s", f.Path, f.Rule, before, d)
			}
		})
		if len(again.Differences) > 0 {
			t.Fatalf("twice is not once: %v\nbefore:\n%s\nafter:\n%s", again.Differences, before, d)
		}
		for _, outside := range again.Outside {
			if !slices.Contains(c.Outside, outside) && len(c.Differences) == 0 {
				t.Fatalf("%s was not reported\n%s", outside, d)
			}
		}
	})
}

func TestACorrectionTouchesHeldFieldsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{Rules: true})
		c := delta.Compare(d.in)
		after := corrected(t, d, c)
		s := side{d.in.Entry.Root, d.in.Type}
		if where := s.touched("", d.in.Desired, d.in.Live, after); where != "" {
			_, ops := c.Patch("u-1", "1")
			t.Fatalf("%s was touched\n%s\nafter   %v\npatch %v", where, d, after, ops)
		}
	})
}

func TestTheOrderOfAssociativeListsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{Known: true})
		first := delta.Compare(d.in)
		d.in.Live = observertest.Object(observertest.Shuffle(t, d.in.Live["spec"].(map[string]any)))
		one, two := summary(first), summary(delta.Compare(d.in))
		if len(first.Warnings) > 0 || slices.ContainsFunc(slices.Concat(one, two), putsKeyBack) {
			return // two elements with equal keys match by position, and so may an element with another key
		}
		if !reflect.DeepEqual(one, two) {
			t.Fatalf("%v\n%v\n%s", one, two, d)
		}
	})
}

func putsKeyBack(difference string) bool {
	return strings.Contains(difference, ".name"+string(delta.Changed))
}

func summary(c delta.Comparison) []string {
	found := []string{}
	for _, d := range c.Differences {
		if d.Reason != delta.Extra { // surplus elements are removed from the end
			found = append(found, fmt.Sprint(d.Path, d.Reason, d.Desired))
		}
	}
	slices.Sort(found)
	return found
}

// If two variables have the same name, the last one counts. A correction therefore keeps their order. A
// value that was sent at another position is not an accepted form.
func TestElementsWithOneKeyKeepTheirOrder(t *testing.T) {
	element := rapid.Custom(func(t *rapid.T) any {
		return map[string]any{"name": rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), "value": rapid.StringMatching("[1-4]").Draw(t, "value")}
	})
	object := func(env []any) map[string]any {
		content := observertest.Manifest(nil).Content
		content["spec"] = map[string]any{"containers": []any{map[string]any{"name": "web", "env": env}}}
		content["metadata"] = map[string]any{"uid": "u-1", "resourceVersion": "1"}
		return content
	}
	valuesOf := func(object map[string]any) map[any][]any {
		values := map[any][]any{}
		for _, v := range object["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["env"].([]any) {
			m := v.(map[string]any)
			values[m["name"]] = append(values[m["name"]], m["value"])
		}
		return values
	}
	rapid.Check(t, func(t *rapid.T) {
		env := rapid.SliceOfN(element, 2, 5).Draw(t, "env")
		live := slices.Clone(env)
		if rapid.Bool().Draw(t, "in another order") {
			live = rapid.Permutation(live).Draw(t, "live")
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			k := rapid.IntRange(0, len(live)).Draw(t, "at")
			switch {
			case k == len(live) || rapid.Bool().Draw(t, "add"):
				live = slices.Insert(slices.Clone(live), k, element.Draw(t, "new"))
			case len(live) > 1 && rapid.Bool().Draw(t, "remove"):
				live = slices.Delete(slices.Clone(live), k, k+1)
			default:
				live = slices.Clone(live)
				live[k] = element.Draw(t, "changed")
			}
		}
		o := observertest.Manifest(nil)
		o.Content = object(env)
		d := drawn{in: delta.Input{
			Entry: observer.DefaultEntry(o), Type: kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}), Desired: o.Content, Manifest: o.Content, Live: object(live),
		}}
		for range 3 {
			c := delta.Compare(d.in)
			d.in.Live = corrected(t, d, c)
			forms := delta.Accept(delta.Compare(d.in), func(d delta.Difference) bool {
				return slices.ContainsFunc(c.Differences, func(sent delta.Difference) bool { return observer.IsUnder(d.Path, sent.Path) })
			})
			if len(forms) > 0 {
				t.Fatalf("%v are no forms of an API server\n%s", forms, d)
			}
		}
		if want, got := valuesOf(o.Content), valuesOf(d.in.Live); !reflect.DeepEqual(want, got) {
			t.Fatalf("%v became %v\n%s", want, got, d)
		}
	})
}

func TestADefaultEntryFindsEveryChangeOfALeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := observertest.Manifest(observertest.Spec(t))
		live := observer.CopyMap(object.Content)
		leaves := 0
		where := spoil(t, live["spec"], &leaves, -1)
		if leaves == 0 {
			return
		}
		spoil(t, live["spec"], &where, rapid.IntRange(0, leaves-1).Draw(t, "leaf"))
		in := delta.Input{
			Entry: observer.DefaultEntry(object).Typed(thing), Type: thing, Desired: object.Content, Manifest: object.Content, Live: live,
		}
		if c := delta.Compare(in); len(c.Differences) == 0 {
			t.Fatalf("%v\n%v", object.Content, live)
		}
	})
}

func TestAUsersEntryFindsEveryChangeOfAHeldLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t, observertest.Options{})
		d.in.Live = observer.CopyMap(d.in.Desired)
		var held []func()
		heldIn(d.in.Entry.Root, d.in.Desired, d.in.Live, func(change func()) { held = append(held, change) })
		if len(held) == 0 {
			return
		}
		held[rapid.IntRange(0, len(held)-1).Draw(t, "leaf")]()
		if c := delta.Compare(d.in); !c.Correctable() {
			t.Fatalf("%s", d)
		}
	})
}

// heldIn visits the scalars that a schema holds, with a function that changes each in the live object.
// The live object is as desired. It skips list-map keys, because another key makes another element.
func heldIn(node *observer.Node, want, live any, visit func(change func())) {
	switch want := want.(type) {
	case map[string]any:
		live := live.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			child := node
			if node.Shape == observer.Map {
				child = node.Field(name)
			}
			if child == nil || name == "name" || name == "metadata" || name == "s1" {
				continue
			}
			heldAt(child, want[name], live[name], func(v any) { live[name] = v }, visit)
		}
	case []any:
		live := live.([]any)
		for i, v := range want {
			child := node
			if node.Shape == observer.Sequence {
				if i >= len(node.List.Elements) {
					return
				}
				child = node.List.Elements[i]
			}
			heldAt(child, v, live[i], func(v any) { live[i] = v }, visit)
		}
	}
}

func heldAt(node *observer.Node, want, live any, put func(any), visit func(change func())) {
	switch want.(type) {
	case map[string]any, []any:
		heldIn(node, want, live, visit)
	default:
		if node.Shape == observer.Leaf {
			visit(func() { put("spoiled") })
		}
	}
}

// spoil changes one scalar, or counts the scalars.
func spoil(t *rapid.T, v any, count *int, which int) int {
	visit := func(child any, put func(any)) {
		switch child.(type) {
		case map[string]any, []any:
			spoil(t, child, count, which)
		default:
			if *count == which {
				put("spoiled")
			}
			*count++
		}
	}
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			visit(v[name], func(x any) { v[name] = x })
		}
	case []any:
		for i := range v {
			visit(v[i], func(x any) { v[i] = x })
		}
	}
	return 0
}

func TestOnlyWhatTheManifestDroppedIsRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := observertest.Spec(t)
		before := observertest.Manifest(observertest.Mutate(t, spec))
		object := observertest.Manifest(spec)
		d := drawn{in: delta.Input{
			Entry: observer.DefaultEntry(object).Typed(thing), Type: thing, Desired: object.Content, Manifest: object.Content,
			Live: observertest.Object(observertest.Mutate(t, before.Content["spec"].(map[string]any))), Previous: before.Content, Prune: true,
		}}
		foreign, isForeign := owners("none"), (func(*observer.Path) bool)(nil)
		if rapid.Bool().Draw(t, "managed") {
			foreign = rapid.SampledFrom([]owners{"spec.v", "spec.m", "spec.l1", "never"}).Draw(t, "theirs")
			d.in.Owners, isForeign = foreign, foreign.IsForeign
		}
		c := delta.Compare(d.in)
		after := corrected(t, d, c)
		if where := foreign.dropped("spec", before.Content["spec"], object.Content["spec"], after["spec"]); where != "" {
			t.Fatalf("%s is still there\n%s\nafter   %v", where, d, after)
		}
		root := (*observer.Path)(nil).Field("spec")
		if where := lost(root, isForeign, before.Content["spec"], object.Content["spec"], d.in.Live["spec"], after["spec"]); where != "" {
			t.Fatalf("%s is gone\n%s\nafter   %v", where, d, after)
		}
		d.in.Live, d.in.Prune = after, false
		if again := delta.Compare(d.in); len(again.Differences) > 0 {
			t.Fatalf("still %v\n%s", again.Differences, d)
		}
	})
}

// owners is the prefix of the fields that another client wrote.
type owners string

func (o owners) IsForeign(path *observer.Path) bool {
	return strings.HasPrefix(path.String(), string(o))
}

func (o owners) IsApplied(*observer.Path) bool { return false }

func (o owners) IsOwned(path *observer.Path, _, _ bool) bool { return !o.IsForeign(path) }

// dropped returns the first scalar in maps that the Application wrote before, that is no longer desired, and still
// exists.
func (o owners) dropped(path string, before, want, after any) string {
	b, ok1 := before.(map[string]any)
	a, ok2 := after.(map[string]any)
	w, _ := want.(map[string]any)
	if !ok1 || !ok2 {
		return ""
	}
	for name, was := range b {
		now, there := a[name]
		wanted, still := w[name]
		if !there || strings.HasPrefix(path+"."+name, string(o)) {
			continue
		}
		switch was.(type) {
		case map[string]any:
			if where := o.dropped(path+"."+name, was, wanted, now); where != "" {
				return where
			}
		case []any:
		default:
			if !still {
				return path + "." + name
			}
		}
	}
	return ""
}

// lost returns the first map field that another client wrote and that the correction changed or
// removed.
func lost(path *observer.Path, foreign func(*observer.Path) bool, before, want, live, after any) string {
	l, ok1 := live.(map[string]any)
	b, ok2 := before.(map[string]any)
	w, ok3 := want.(map[string]any)
	if !ok1 || !ok2 || !ok3 && want != nil {
		return ""
	}
	a, _ := after.(map[string]any)
	for name, now := range l {
		at := path.Field(name)
		was, ours := b[name]
		_, wanted := w[name]
		if left, stays := a[name]; !ours && !wanted && (foreign == nil || foreign(at)) && (!stays || !observer.Equal(now, left)) {
			return at.String()
		}
		if where := lost(at, foreign, was, w[name], now, a[name]); where != "" {
			return where
		}
	}
	return ""
}

// side walks the fields that a correction must not change.
type side struct {
	node *observer.Node
	t    *kinds.Node
}

// touched returns the path of the first free value that was changed, added or removed.
func (s side) touched(path string, want, before, after any) string {
	switch s.node.Shape {
	case observer.Map:
		b, ok1 := before.(map[string]any)
		a, ok2 := after.(map[string]any)
		w, ok3 := want.(map[string]any)
		if ok1 && ok2 && ok3 {
			return s.touchedFields(path, w, b, a)
		}
	case observer.Sequence:
		b, ok1 := before.([]any)
		a, ok2 := after.([]any)
		w, ok3 := want.([]any)
		if ok1 && ok2 && ok3 {
			return s.touchedElements(path, w, b, a)
		}
	}
	return ""
}

func (s side) touchedFields(path string, want, before, after map[string]any) string {
	for _, m := range []map[string]any{before, after} {
		for name := range m {
			child := s.node.Field(name)
			was, had := before[name]
			now, has := after[name]
			wanted, known := want[name]
			at := path + "." + name
			if hasBounds(child) && !known {
				continue // bounds hold even if nothing is desired
			}
			if child == nil || !known || isLeft(child.Rule) {
				if had != has || !observer.Equal(was, now) {
					return at
				}
				continue
			}
			if where := (side{child, s.t.Field(name)}).touched(at, wanted, was, now); where != "" {
				return where
			}
		}
	}
	return ""
}

// isLeft reports whether a correction never writes the leaf.
func isLeft(rule *observer.Rule) bool {
	return rule != nil && rule.Mode == observer.ModeReport
}

// hasBounds reports whether a rule at or below a node can cause a correction.
func hasBounds(n *observer.Node) bool {
	if n == nil || n.Shape == observer.Leaf {
		return n != nil && n.Rule != nil && !isLeft(n.Rule)
	}
	if n.Shape == observer.Sequence {
		return slices.ContainsFunc(n.List.Elements, hasBounds)
	}
	return slices.ContainsFunc(n.Fields, func(f observer.Field) bool { return hasBounds(f.Node) })
}

func (s side) touchedElements(path string, want, before, after []any) string {
	list := s.node.List
	b, a := list.Pair(s.t, want, before, len(want)), list.Pair(s.t, want, after, len(want))
	for i, element := range list.Elements {
		if b.Live[i] < 0 || a.Live[i] < 0 || i >= len(want) {
			continue
		}
		at := fmt.Sprintf("%s[%d]", path, i)
		if where := (side{element, s.t.Elem()}).touched(at, want[i], before[b.Live[i]], after[a.Live[i]]); where != "" {
			return where
		}
	}
	next, bFree := 0, b.Free()
	for _, k := range a.Free() {
		is := func(v any) bool { return observer.Equal(v, after[k]) }
		if i := slices.IndexFunc(bFree[next:], func(was int) bool { return is(before[was]) }); i >= 0 {
			next += i
		} else if !slices.ContainsFunc(want, is) {
			return fmt.Sprintf("%s[%d]", path, k)
		}
	}
	mayGo := 0
	if list.Open {
		mayGo = len(b.Surplus)
	}
	if len(after) < len(before)-mayGo && list.Max == 0 {
		return path + " (its length)"
	}
	return ""
}
