package writer

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestOwner: the nearest field manager owns a field, and of several the last; none on a tie.
func TestOwner(t *testing.T) {
	live := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(`
metadata:
  managedFields:
  - {manager: old, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}, 'f:selector': {}}}}
  - {manager: new, time: '2026-01-02T00:00:00Z', fieldsV1: {'f:spec': {'f:replicas': {}}}}
  - {manager: lists, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:containers': {'k:{"name":"web"}': {'.': {}, 'f:name': {}, 'f:image': {}}}, 'f:finalizers': {'v:"x"': {}}, 'f:args': {'i:1': {}}}}}
  - {manager: one, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:tied': {}}}}
  - {manager: two, time: '2026-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:tied': {}}}}
  - {manager: nearer, time: '2025-01-01T00:00:00Z', fieldsV1: {'f:spec': {'f:selector': {'f:nearer': {}}}}}
  - {manager: timeless, fieldsV1: {'f:spec': {'f:paused': {}}}}
  - {manager: broken, fieldsV1: {'x:spec': {}}}
  - {manager: empty}
spec:
  containers: [{name: mesh}, {name: web, image: web:1}]
  finalizers: [y, x]
  args: [a, b]
  selector: {app: web}
`), &live))
	spec := (*observer.Path)(nil).Field("spec")
	rows := []struct {
		name    string
		path    *observer.Path
		manager string
	}{
		{"the last of two", spec.Field("replicas"), "new"},
		{"a field without an owner", spec.Field("other"), ""},
		{"a map, by its fields", spec, "new"},
		{"inside what is owned whole", spec.Field("selector").Field("app"), "old"},
		{"an element by its key", spec.Field("containers").Element("[name=web]", 1).Field("image"), "lists"},
		{"another element", spec.Field("containers").Element("[name=mesh]", 0).Field("image"), ""},
		{"an element that is gone", spec.Field("containers").Element("[name=gone]", -1), ""},
		{"an element of a set", spec.Field("finalizers").Element("[=x]", 1), "lists"},
		{"another element of a set", spec.Field("finalizers").Element("[=y]", 0), ""},
		{"an element by its position", spec.Field("args").Element("[1]", 1), "lists"},
		{"a writer without a time", spec.Field("paused"), "timeless"},
		{"a tie", spec.Field("tied"), ""},
		{"the nearer owner, and not the later one of all of it", spec.Field("selector").Field("nearer"), "nearer"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			writer, _ := NewIndex(nil, live).OfValue(row.path)
			assert.Equal(t, row.manager, writer.Manager)
		})
	}
}

// TestElementsAreLookedUpAsTheyAreCompared compares lookUp with a walk over all elements of a set.
func TestElementsAreLookedUpAsTheyAreCompared(t *testing.T) {
	found := map[bool]int{}
	rapid.Check(t, func(r *rapid.T) {
		scalar := rapid.SampledFrom([]any{nil, true, "1", "a", int64(1), int64(2), 1.0, 2.5})
		element := rapid.OneOf(scalar, rapid.Custom(func(r *rapid.T) any {
			m := map[string]any{}
			for _, name := range []string{"name", "port", "protocol", "other"} {
				if rapid.Bool().Draw(r, name) {
					m[name] = scalar.Draw(r, "value")
				}
			}
			return m
		}))
		keys := rapid.SampledFrom([][]string{{"name"}, {"port"}, {"port", "protocol"}}).Draw(r, "keys")
		kind := rapid.SampledFrom([]string{"keys", "values", "indexes"}).Draw(r, "kind")
		set := &fieldpath.Set{}
		for range rapid.IntRange(0, 6).Draw(r, "elements") {
			var e fieldpath.PathElement
			switch kind {
			case "keys":
				var fields []value.Field
				for _, key := range keys {
					fields = append(fields, value.Field{Name: key, Value: value.NewValueInterface(scalar.Draw(r, key))})
				}
				e = fieldpath.KeyElement(fields...)
			case "values":
				e = fieldpath.ValueElement(value.NewValueInterface(element.Draw(r, "value")))
			default:
				e = fieldpath.IndexElement(rapid.IntRange(0, 3).Draw(r, "index"))
			}
			path := fieldpath.Path{e}
			if rapid.Bool().Draw(r, "deep") {
				path = append(path, fieldpath.FieldNameElement("f"))
			}
			set.Insert(path)
		}
		step := observer.Step{IsElement: true, Index: rapid.IntRange(-1, 3).Draw(r, "at"), Element: element.Draw(r, "live")}
		e := newEntry(Writer{}, set, 0)
		wantLeaf, wantBelow := false, false
		e.leaves.Members.Iterate(func(e fieldpath.PathElement) { wantLeaf = wantLeaf || isSameStep(e, step) })
		e.leaves.Children.Iterate(func(e fieldpath.PathElement) { wantBelow = wantBelow || isSameStep(e, step) })
		isLeaf, below := e.lookUp(e.leaves, step)
		if isLeaf != wantLeaf || (below != nil) != wantBelow {
			r.Fatalf("%s at %+v: %t and %t, want %t and %t", set, step, isLeaf, below != nil, wantLeaf, wantBelow)
		}
		found[isLeaf || below != nil]++
	})
	assert.Positive(t, found[true])
	assert.Positive(t, found[false])
}

// isSameStep reports whether an element of managedFields and a step of a live object are the same.
func isSameStep(e fieldpath.PathElement, s observer.Step) bool {
	switch {
	case e.Index != nil:
		return *e.Index == s.Index
	case e.Value != nil:
		return observer.Equal((*e.Value).Unstructured(), s.Element)
	}
	m, ok := s.Element.(map[string]any)
	for _, field := range *e.Key {
		v, has := m[field.Name]
		ok = ok && has && observer.Equal(v, field.Value.Unstructured())
	}
	return ok
}

// TestOwners compares who owns a value with the table of IsOwned.
func TestOwners(t *testing.T) {
	const ours, theirs = "holdfast:shop/web", "argocd-controller"
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	entry := func(manager, operation, fields string) string {
		return fmt.Sprintf("{manager: %s, operation: %s, fieldsV1: {'f:spec': %s}}", manager, operation, fields)
	}
	const one, parts, part, elsewhere = "{'f:selector': {}}", "{'f:selector': {'.': {}, 'f:app': {}}}", "{'f:selector': {'f:app': {}}}", "{'f:replicas': {}}"
	selector := (*observer.Path)(nil).Field("spec").Field("selector")
	rows := []struct {
		name              string
		entries           []string
		created, adopted  bool // owned if unchanged
		changed           bool // owned by the creator, if changed
		isApplied, isPart bool // the whole value, and its part, are applied by another client
	}{
		{"no manager has it", []string{entry(ours, "Update", elsewhere)}, true, false, false, false, false},
		{"managedFields are empty", nil, true, false, false, false, false},
		{"only ancient changes", []string{entry("ancient-changes", "Update", one)}, true, false, false, false, false},
		{"only another Application", []string{entry("holdfast:shop/other", "Update", one)}, true, false, false, false, false},
		{"ours alone", []string{entry(ours, "Update", one)}, true, true, true, false, false},
		{"another has it", []string{entry(ours, "Update", part), entry(theirs, "Update", part)}, false, false, false, false, false},
		{"another has updated all of it", []string{entry(theirs, "Update", one)}, true, false, false, false, false},
		{"both have updated all of it", []string{entry(ours, "Update", one), entry(theirs, "Update", one)}, true, true, false, false, false},
		{"another applies all of it", []string{entry(ours, "Update", one), entry(theirs, "Apply", one)}, false, false, false, true, true},
		{"another client applies an empty map, and the Application has a part", []string{entry(ours, "Update", parts), entry(theirs, "Apply", one)}, true, true, true, false, false},
		{"another applies a parent empty", []string{entry(ours, "Update", "{'f:replicas': {}}"), entry(theirs, "Apply", "{}")}, true, false, false, false, false},
		{"another applies a part", []string{entry(ours, "Update", parts), entry(theirs, "Apply", part)}, false, false, false, false, true},
		{"another Application applies all of it", []string{entry(ours, "Update", one), entry("holdfast:shop/other", "Apply", one)}, true, true, true, false, false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			live := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte("{spec: {selector: {app: web}}, metadata: {managedFields: ["+strings.Join(row.entries, ", ")+"]}}"), &live))
			owners := NewOwners(app, live)
			require.NotNil(t, owners)
			assert.Equal(t, row.created, owners.IsOwned(selector.Field("app"), true, false), "created")
			assert.Equal(t, row.adopted, owners.IsOwned(selector.Field("app"), true, true), "adopted")
			assert.Equal(t, row.changed, owners.IsOwned(selector.Field("app"), false, false), "changed")
			assert.Equal(t, row.isApplied, owners.IsApplied(selector))
			assert.Equal(t, row.isPart, owners.IsApplied(selector.Field("app")))
		})
	}
	assert.Nil(t, NewOwners(app, map[string]any{"metadata": map[string]any{}}), "a watch drops managedFields")
}

// BenchmarkOwners looks up the elements of a list next to those of another client. Its time grows with their number,
// and not with its square.
func BenchmarkOwners(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			elements, keys := []any{}, map[string]any{}
			for i := range n {
				elements = append(elements, map[string]any{"name": strconv.Itoa(i)})
				keys[fmt.Sprintf(`k:{"name":"their-%d"}`, i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}}
			}
			live := map[string]any{
				"spec": map[string]any{"list": elements},
				"metadata": map[string]any{"managedFields": []any{
					map[string]any{"manager": "other", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:list": keys}}},
				}},
			}
			list := (*observer.Path)(nil).Field("spec").Field("list")
			for b.Loop() {
				owners := NewOwners(&v1alpha1.Application{}, live)
				for k := range elements {
					if owners.IsForeign(list.Element("[]", k)) {
						b.Fatal("no element is foreign")
					}
				}
			}
		})
	}
}
