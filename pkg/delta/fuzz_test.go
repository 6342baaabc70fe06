package delta_test

import (
	"encoding/json"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// FuzzCompare checks that Compare never panics and that every path can be parsed. The patch must apply
// to its object.
func FuzzCompare(f *testing.F) {
	const control = `{"observer_schema_list_min_length":1,"observer_schema_list_max_length":2}`
	f.Add(`{"v1":1,"k1":[{"name":"a","v1":1}]}`, `{"v1":2,"k1":[{"name":"b"},{"name":"a","v1":2}]}`, `{"v1":null,"k1":[{"v1":null},`+control+`]}`, `{"v2":1}`)
	f.Add(`{"l1":[1,2,3]}`, `{"l1":[3]}`, `{"l1":[null,null,`+control+`]}`, `{"l1":[3,4]}`)
	f.Add(`{"m1":{"v1":null,"v2":[]}}`, `{"m1":null}`, `{"m1":{"v1":null},"s1":null}`, `{"m1":{"v1":{"a":1}}}`)
	f.Add(`{"s1":["a","b"]}`, `{"s1":["b","b",1]}`, ``, `{"s1":["c"],"k2":[{"name":"a"},{"name":"a"}]}`)
	f.Add(`{"k1":[{"name":null}],"m/2":{"v1":{}}}`, `{"k1":{"name":"a"},"m/2":[]}`, ``, `{"k1":[1]}`)
	f.Fuzz(func(t *testing.T, desired, live, schema, before string) {
		in, ok := fuzzInput(desired, live, schema, before)
		if !ok {
			return
		}
		in.Entry.Learn(in.Type, in.Desired, in.Manifest, in.Live)
		in.Entry.Project(in.Type, in.Desired, in.Live)
		c := delta.Walk(in, func(f delta.Field) {
			if parsed, err := observer.ParsePath(f.Path.String()); err != nil || parsed.String() != f.Path.String() {
				t.Fatalf("%s is read as %s: %v", f.Path, parsed, err)
			}
		})
		guards, ops := c.Patch("u-1", "1")
		raw, err := json.Marshal(slices.Concat(guards, ops))
		if err != nil {
			t.Fatal(err)
		}
		patch, err := jsonpatch.DecodePatch(raw)
		if err != nil {
			t.Fatal(err)
		}
		document, err := json.Marshal(in.Live)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := patch.Apply(document); err != nil && !hasEmptyKey(in.Live) && !hasEmptyKey(in.Desired) {
			t.Fatalf("%v\n%s\n%s", err, raw, document)
		}
	})
}

// hasEmptyKey reports whether a value has an empty key, which the JSON patch library cannot handle.
func hasEmptyKey(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if name == "" || hasEmptyKey(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasEmptyKey)
	}
	return false
}

func fuzzInput(desired, live, schema, before string) (delta.Input, bool) {
	spec, err := manifest.DecodeJSON([]byte(desired))
	if err != nil {
		return delta.Input{}, false
	}
	liveSpec, err := manifest.DecodeJSON([]byte(live))
	if err != nil {
		return delta.Input{}, false
	}
	object := observertest.Manifest(spec)
	in := delta.Input{
		Entry: observer.DefaultEntry(object).Typed(thing), Type: thing, Desired: observer.CopyMap(object.Content), Manifest: object.Content,
		Live: observertest.Object(liveSpec),
	}
	if previous, err := manifest.DecodeJSON([]byte(before)); err == nil {
		in.Previous, in.Prune = observertest.Manifest(previous).Content, true
	}
	if observed, err := manifest.DecodeJSON([]byte(schema)); err == nil {
		raw := observertest.Manifest(observed).Content
		entries, err := observer.ParseAll([]map[string]any{observer.ReplaceNulls(raw)})
		if err != nil {
			return delta.Input{}, false
		}
		// The schema is not assigned: it may contradict the desired state after a hook.
		in.Entry, in.Prune = entries[0], false
		in.Type = (*kinds.Node)(nil)
	}
	return in, true
}
