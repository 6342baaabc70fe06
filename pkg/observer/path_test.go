package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/observer"
)

func TestAPathHasOneNameForPeopleAndOneForPatches(t *testing.T) {
	root := (*observer.Path)(nil)
	rows := []struct {
		name    string
		path    *observer.Path
		text    string
		pointer string
	}{
		{"the root is nothing", root, "", ""},
		{"fields are joined by dots", root.Field("spec").Field("replicas"), "spec.replicas", "/spec/replicas"},
		{"an element is named by its key and found by its index",
			root.Field("spec").Field("ports").Element("[port=80,protocol=TCP]", 2).Field("targetPort"),
			"spec.ports[port=80,protocol=TCP].targetPort", "/spec/ports/2/targetPort"},
		{"a key with a dot is quoted", root.Field("labels").Field("a.b"), "labels['a.b']", "/labels/a.b"},
		{"a slash is quoted and escaped", root.Field("labels").Field("a/b"), "labels['a/b']", "/labels/a~1b"},
		{"a tilde is quoted and escaped", root.Field("a~b"), "['a~b']", "/a~0b"},
		{"an escape is escaped once", root.Field("~1"), "['~1']", "/~01"},
		{"a quote is escaped", root.Field("a'b"), `['a\'b']`, "/a'b"},
		{"brackets are quoted", root.Field("a[0]"), "['a[0]']", "/a[0]"},
		{"an empty key is quoted", root.Field("x").Field(""), "x['']", "/x/"},
		{"letters beyond ASCII are quoted", root.Field("ü"), "['ü']", "/ü"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.text, row.path.String())
			assert.Equal(t, row.pointer, row.path.Pointer())
		})
	}
}

func TestUnder(t *testing.T) {
	rows := []struct {
		name         string
		path, prefix string
		want         bool
	}{
		{"a path is under itself", "spec.a", "spec.a", true},
		{"a field is under its map", "spec.a.b", "spec.a", true},
		{"a quoted field is under its map", "spec.a['b/c']", "spec.a", true},
		{"an element is under its list", "spec.a[0]", "spec.a", true},
		{"a longer name is not", "spec.ab", "spec.a", false},
		{"a map is not under its field", "spec", "spec.a", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.want, observer.IsUnder(row.path, row.prefix)) })
	}
}

func TestStepsLeadThroughTheLiveObject(t *testing.T) {
	live := map[string]any{"a": []any{map[string]any{"b": "x"}}}
	path := (*observer.Path)(nil).Field("a").Element("[name=x]", 0).Field("b")
	assert.Equal(t, []observer.Step{
		{Field: "a"}, {IsElement: true, Index: 0, Element: map[string]any{"b": "x"}}, {Field: "b"},
	}, path.Steps(live))
	gone := (*observer.Path)(nil).Field("z").Element("[name=x]", -1).Field("b")
	assert.Len(t, gone.Steps(live), 3)
}

// A map that only leads to the removed field would otherwise be held as an empty map.
func TestDeleteAddsNoMaps(t *testing.T) {
	path := (*observer.Path)(nil).Field("spec").Field("a").Field("b")
	for _, row := range []struct {
		name          string
		desired, want map[string]any
	}{
		{"without the parents", map[string]any{}, map[string]any{}},
		{"without the field", map[string]any{"spec": map[string]any{"a": map[string]any{}}}, map[string]any{"spec": map[string]any{"a": map[string]any{}}}},
		{"with the field", map[string]any{"spec": map[string]any{"a": map[string]any{"b": "x"}}}, map[string]any{"spec": map[string]any{"a": map[string]any{}}}},
		{"below another type", map[string]any{"spec": "x"}, map[string]any{"spec": "x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			path.Delete(row.desired)
			assert.Equal(t, row.want, row.desired)
		})
	}
}
