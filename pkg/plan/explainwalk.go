package plan

import (
	"cmp"
	"maps"
	"slices"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// explainer walks the observer schema, the desired state, the manifest and the
// live object of one resource at the same time.
type explainer struct {
	plan        *Plan
	id          manifest.ID
	res         *resource // nil if it is no longer desired
	live        map[string]any
	change      Change
	compared    delta.Comparison
	writers     []managerEntry
	showSecrets bool
	told        map[string]bool // the differences that have a field
	fields      []Field
}

// place is one place of the walk.
type place struct {
	node             *observer.Node // nil: free
	t                *kinds.Node
	path             *observer.Path
	want, live       delta.Value
	written          delta.Value // in the manifest
	root, isMetadata bool
}

func (e *explainer) explain(res *resource) {
	e.res, e.told = res, map[string]bool{}
	e.compared = res.compared
	if e.live != nil && e.compared.Relied == nil {
		e.compared = e.plan.compare(res, e.live)
	}
	entry, desired := withMarks(e.plan.in.Application, res.entry, res.desired)
	_, written := withMarks(e.plan.in.Application, res.entry, res.object.Content)
	e.walk(place{
		node: entry.Root, t: res.kind, root: true,
		want: delta.Some(desired), live: delta.Value{Set: e.live != nil, Any: e.live}, written: delta.Some(written),
	})
	e.rest()
}

// rest tells of differences that the walk has not met: what the manifest no
// longer has, and elements that a list needs to be long enough.
func (e *explainer) rest() {
	for _, d := range e.compared.Differences {
		if !e.told[d.Path] {
			e.told[d.Path] = true
			e.add(place{path: d.Place(), want: d.Desired, live: d.Observed, written: d.Desired}, FieldHeld)
		}
	}
}

func (e *explainer) walk(at place) {
	switch {
	case at.node == nil:
		e.free(at)
	case at.node.Shape == observer.Map && holds[map[string]any](at.want) && holds[map[string]any](at.live):
		e.walkMap(at)
	case at.node.Shape == observer.Sequence && holds[[]any](at.want) && holds[[]any](at.live):
		e.walkList(at)
	default:
		e.leaf(at)
	}
}

// holds tells whether a value is of that shape, or not there.
func holds[T any](v delta.Value) bool {
	_, is := v.Any.(T)
	return is || !v.Set
}

func (e *explainer) walkMap(at place) {
	want, _ := at.want.Any.(map[string]any)
	live, _ := at.live.Any.(map[string]any)
	written, _ := at.written.Any.(map[string]any)
	names := map[string]bool{}
	for _, f := range at.node.Fields {
		names[f.Name] = true
	}
	for name := range live {
		names[name] = true
	}
	if len(names) == 0 && !at.isMetadata {
		e.leaf(at) // that the map is there is all that can be said
	}
	for _, name := range scalarsFirst(names, live, want) {
		if at.hides(name) {
			continue
		}
		e.walk(place{
			node: at.node.Field(name), t: at.t.Field(name), path: at.path.Field(name),
			want: member(want, name), live: member(live, name), written: member(written, name),
			isMetadata: at.root && name == "metadata",
		})
	}
}

// scalarsFirst are the keys of a map by name, those first whose value has nothing
// below it: that is how people read.
func scalarsFirst[V any](names map[string]V, values ...map[string]any) []string {
	depth := func(name string) int {
		for _, m := range values {
			if isContainer(m[name]) {
				return 1
			}
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth(a), depth(b)), cmp.Compare(a, b))
	})
}

// hides tells which fields are not worth a line: they identify the object, or
// are the API server's own.
func (at place) hides(name string) bool {
	switch {
	case at.root:
		return name == "apiVersion" || name == "kind"
	case at.isMetadata:
		return slices.Contains(serverFields, name) || name == "namespace" && (at.node == nil || at.node.Field(name) == nil)
	}
	return false
}

var serverFields = []string{
	"name", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
	"deletionTimestamp", "deletionGracePeriodSeconds",
}

func (e *explainer) walkList(at place) {
	want, _ := at.want.Any.([]any)
	live, _ := at.live.Any.([]any)
	written, _ := at.written.Any.([]any)
	list := at.node.List
	pairing := list.Pair(at.t, want, live)
	for i, k := range pairing.Live {
		e.walk(place{
			node: list.Elements[i], t: at.t.Elem(), path: at.path.Element(pairing.Labels[i], k),
			want: item(want, i), live: item(live, k), written: item(written, i),
		})
	}
	for _, k := range pairing.Free {
		e.free(place{t: at.t.Elem(), path: at.path.Element(list.Label(at.t, live[k], k), k), live: delta.Some(live[k])})
	}
}

// free walks what nobody observes, down to its scalars.
func (e *explainer) free(at place) {
	if !at.live.Set {
		return
	}
	if d, differs := e.difference(at.path.String()); differs && (d.Reason == delta.Extra || e.res == nil) {
		e.add(at, FieldFree)
		return
	}
	switch live := at.live.Any.(type) {
	case map[string]any:
		if len(live) > 0 {
			at.node = &observer.Node{Shape: observer.Map}
			for _, name := range scalarsFirst(live, live) {
				if !at.hides(name) {
					e.free(place{t: at.t.Field(name), path: at.path.Field(name), live: delta.Some(live[name]), isMetadata: at.root && name == "metadata"})
				}
			}
			return
		}
	case []any:
		if slices.ContainsFunc(live, isContainer) {
			list := &observer.List{}
			for k, element := range live {
				e.free(place{t: at.t.Elem(), path: at.path.Element(list.Label(at.t, element, k), k), live: delta.Some(element)})
			}
			return
		}
	}
	e.add(at, FieldFree)
}

// isContainer tells whether anything is below a value.
func isContainer(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

func member(m map[string]any, name string) delta.Value {
	v, has := m[name]
	return delta.Value{Set: has, Any: v}
}

func item(l []any, i int) delta.Value {
	if i < 0 || i >= len(l) {
		return delta.Value{}
	}
	return delta.Some(l[i])
}
