package plan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestHoldThenFreeLeavesAnEntry holds a free field of a schema and frees it again, or the reverse. The
// schema does not change.
func TestHoldThenFreeLeavesAnEntry(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		w := newWorld(t, "manifest: []")
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		w.app.Spec.ObserverSchema = raws(observertest.Entry(r, spec, observertest.Options{Walked: true, Bounded: rapid.Bool().Draw(r, "bounded")}).Raw())
		before := w.decide()
		if before.Invalid != nil {
			return
		}
		path, free := drawnPath(r, spec), rapid.Bool().Draw(r, "free")
		edit := plan.Edit{Free: free, Paths: []string{path}}
		if _, notes, err := before.EditSchema(observertest.ID, plan.Edit{Free: !free, Paths: edit.Paths}); err != nil || len(notes) == 0 {
			return // the path is partly held and partly free
		}
		once, notes, err := before.EditSchema(observertest.ID, edit)
		isList := func(raw []byte) int { return strings.Count(string(raw), observer.KeyMaxLength) }
		if err != nil || len(notes) > 0 || free && isList(once[0].Raw) != isList(w.app.Spec.ObserverSchema[0].Raw) {
			return // an entire list that is held again has the manifest's length
		}
		after := before.WithSchema(once)
		require.Nil(r, after.Invalid)
		_, notes, err = after.EditSchema(observertest.ID, edit)
		require.NoError(r, err)
		require.Len(r, notes, 1, "twice is once")
		back, notes, err := after.EditSchema(observertest.ID, plan.Edit{Free: !free, Paths: edit.Paths})
		require.NoError(r, err)
		require.Empty(r, notes)
		require.Equal(r, meaning(r, w.app.Spec.ObserverSchema), meaning(r, back))
	})
}

// meaning returns a schema as JSON. It omits empty elements at the ends of lists, and lists and maps
// without effect.
func meaning(t require.TestingT, schema []runtime.RawExtension) string {
	entry, err := manifest.DecodeJSON(schema[0].Raw)
	require.NoError(t, err)
	var trimmed func(v any) any
	trimmed = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for name, child := range v {
				if below := trimmed(child); below != nil {
					out[name] = below
				}
			}
			if len(out) == 0 && len(v) > 0 {
				return nil // it contained only such lists
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, element := range v {
				if out[i] = trimmed(element); out[i] == nil {
					out[i] = map[string]any{}
				}
			}
			for n := len(out); n > 1 && observer.Equal(out[n-2], map[string]any{}); n = len(out) {
				out = append(out[:n-2], out[n-1])
			}
			if len(out) == 1 && observer.Equal(out[0], map[string]any{observer.KeyMinLength: int64(0), observer.KeyMaxLength: int64(0)}) {
				return nil
			}
			return out
		}
		return v
	}
	raw, err := json.Marshal(trimmed(entry))
	require.NoError(t, err)
	return string(raw)
}

// An edit of one field keeps the rest of the schema in its written form: nulls, lengths and rules.
func TestAnEntryIsEditedInPlace(t *testing.T) {
	const head = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "labels": null}, `
	const manifestText = `manifest: [{apiVersion: v1, kind: Service, metadata: {name: web, labels: {a: b}}, spec: {type: NodePort, ports: [{port: 80, name: a}, {port: 81, name: b}]}}]`
	const lengths = `{"observer_schema_list_min_length": 2, "observer_schema_list_max_length": 2, "observer_schema_list_current_length": 7}`
	for _, row := range []struct {
		name, before, path, after string
		edit                      plan.Edit
	}{
		{"a leaf more", `"spec": {"type": null}}`, "spec.sessionAffinity", `"spec": {"type": null, "sessionAffinity": "observed"}}`, plan.Edit{}},
		{"the last leaf less", `"spec": {"type": "observed"}}`, "spec.type", `"spec": null}`, plan.Edit{Free: true}},
		{"a leaf that is a null", `"spec": {"type": null, "clusterIP": null}}`, "spec.type", `"spec": {"type": "free", "clusterIP": null}}`, plan.Edit{Free: true}},
		{"what was released by name", `"spec": {"type": "free"}}`, "spec.type", `"spec": {"type": "observed"}}`, plan.Edit{}},
		{"an element more", `"spec": {"ports": [{"port": null}, ` + lengths + `]}}`, "spec.ports[name=b].port", `"spec": {"ports": [{"port": null}, {"port": "observed"}, ` + lengths + `]}}`, plan.Edit{}},
		{"an element less", `"spec": {"ports": [{"port": null}, {"name": "observed"}, ` + lengths + `]}}`, "spec.ports[1].name", `"spec": {"ports": [{"port": null}, ` + lengths + `]}}`, plan.Edit{Free: true}},
		{"another rule", `"spec": {"type": {"observer_schema_mode": "push"}}}`, "spec.type", `"spec": {"type": {"observer_schema_pattern": "Node.*"}}}`, plan.Edit{Rule: v1alpha1.HeldField{Pattern: "Node.*"}}},
		{"no rule any more", `"spec": {"type": {"observer_schema_mode": "push"}}}`, "spec.type", `"spec": {"type": "observed"}}`, plan.Edit{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, manifestText)
			w.app.Spec.ObserverSchema = []runtime.RawExtension{{Raw: []byte(head + row.before)}}
			p := w.decide()
			require.Nil(t, p.Invalid)
			row.edit.Paths = []string{row.path}
			id := manifest.ID{Kind: "Service", Namespace: "default", Name: "web"}
			schema, notes, err := p.EditSchema(id, row.edit)
			require.NoError(t, err)
			assert.Empty(t, notes)
			if row.name == "the last leaf less" {
				assert.NotContains(t, string(schema[0].Raw), "spec")
				return
			}
			assert.JSONEq(t, head+row.after, string(schema[0].Raw))
			assert.Nil(t, p.WithSchema(schema).Invalid)
		})
	}
}

// Freeing a free field changes nothing and returns a note.
func TestFreeingWhatIsFreeChangesNothing(t *testing.T) {
	const head = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": `
	const none = `"observer_schema_list_min_length": 0, "observer_schema_list_max_length": 0`
	id := manifest.ID{Kind: "Service", Namespace: "default", Name: "web"}
	for _, row := range []struct{ name, entry, path string }{
		{"a list with a place", `{"ports": [{}, {"observer_schema_list_min_length": 0, "observer_schema_list_max_length": 1}]}`, "spec.ports[*]"},
		{"a list that says nothing", `{"ports": [{` + none + `}]}`, "spec.ports[0]"},
		{"a list with keys alone", `{"ports": [{` + none + `, "observer_schema_list_map_keys": ["port"]}]}`, "spec.ports[*].name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, `manifest: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80, name: a}]}}]`)
			w.app.Spec.ObserverSchema = []runtime.RawExtension{{Raw: []byte(head + row.entry + `}`)}}
			schema, notes, err := w.decide().EditSchema(id, plan.Edit{Free: true, Paths: []string{row.path}})
			require.NoError(t, err)
			assert.Equal(t, []string{row.path + " is already free"}, notes)
			assert.JSONEq(t, head+row.entry+`}`, string(schema[0].Raw))
		})
	}
	t.Run("an element beyond those that are held", func(t *testing.T) {
		w := newWorld(t, `
manifest: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80, name: a}, {port: 81, name: b}]}}]
fields: [{resource: {kind: Service, name: web}, hold: ["spec.ports[port=80]"]}]`)
		fields, notes, err := w.decide().EditFields(id, plan.Edit{Free: true, Paths: []string{"spec.ports[1]"}})
		require.NoError(t, err)
		assert.Len(t, notes, 1)
		assert.Equal(t, w.app.Spec.Fields, fields)
	})
}
