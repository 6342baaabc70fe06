package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestFieldsAreTheSchemaThatTheyCompileTo runs the same changes with spec.fields and with the observer
// schema that spec.fields compiles to.
func TestFieldsAreTheSchemaThatTheyCompileTo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		short, long := newWorld(t, "manifest: []"), newWorld(t, "manifest: []")
		for _, w := range []*world{short, long} {
			w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		}
		short.app.Spec.Fields = []v1alpha1.ResourceFields{drawnFields(r, spec)}
		p := short.decide()
		if p.Invalid != nil {
			require.Regexp(r, "lies within|which its rule .* does not allow|must be absent|is not a map|fails to evaluate|cannot have a mode|the same path|the same field", p.Invalid.Message)
			return
		}
		for _, entry := range explain.ViewOf(p).Status.MangledObserverSchema {
			if strings.Contains(string(manifest.EncodeJSON(entry)), observer.KeyKeys) {
				return // no written schema can close a map
			}
			raw, err := observer.ParseRecorded(entry.(map[string]any))
			require.NoError(r, err)
			observe(r, long, raw)
		}
		learns := rapid.Bool().Draw(r, "defaults")
		for _, w := range []*world{short, long} {
			w.respond = func(o map[string]any) { rewrite(o["spec"], learns, false) }
		}
		opened := strings.ContainsAny(sorted(r, short.app.Spec.Fields), "0123456789")
		for range rapid.IntRange(1, 3).Draw(r, "rounds") {
			a, _ := short.round()
			b, _ := long.round()
			require.Equal(r, changes(r, b), changes(r, a))
			if opened || hasElements(spec) {
				return // paths find elements by their values, or hold a list as one value; written schemas go by position
			}
			changed := observertest.Mutate(r, short.only()["spec"].(map[string]any))
			short.only()["spec"], long.only()["spec"] = changed, observer.CopyMap(changed)
		}
	})
}

// hasElements reports whether a list in a value contains a map.
func hasElements(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, child := range value {
			if hasElements(child) {
				return true
			}
		}
	case []any:
		for _, element := range value {
			if _, isMap := element.(map[string]any); isMap || hasElements(element) {
				return true
			}
		}
	}
	return false
}

// changes returns the changes of a plan, with the schema and the last-applied state.
func changes(t require.TestingT, p *plan.Plan) string {
	require.Nil(t, p.Invalid)
	v := explain.ViewOf(p)
	raw, err := json.MarshalIndent([]any{v.Changes, v.Status.MangledObserverSchema, v.Status.LastAppliedManifest}, "", " ")
	require.NoError(t, err)
	// Only a schema of spec.fields marks learned leaves.
	return strings.ReplaceAll(string(raw), `"learned"`, `"observed"`)
}

// drawnFields returns a spec.fields item with paths from a spec.
func drawnFields(r *rapid.T, spec map[string]any) v1alpha1.ResourceFields {
	entry := v1alpha1.ResourceFields{Resource: v1alpha1.ResourceSelector{Kind: observertest.GVK.Kind, Name: observertest.ID.Name}}
	if rapid.Bool().Draw(r, "hold") {
		entry.Hold = []v1alpha1.HeldField{}
		for range rapid.IntRange(0, 4).Draw(r, "holds") {
			held := v1alpha1.HeldField{Path: drawnPath(r, spec)}
			if rapid.IntRange(0, 2).Draw(r, "ruled") == 0 {
				held = drawnRule(r, held)
			}
			entry.Hold = append(entry.Hold, held)
		}
	}
	for range rapid.IntRange(0, 3).Draw(r, "frees") {
		entry.Free = append(entry.Free, drawnPath(r, spec))
	}
	if entry.Hold == nil && entry.Free == nil {
		entry.Hold = []v1alpha1.HeldField{{Path: observer.AllFields}}
	}
	return entry
}

// drawnRule adds a rule to a path.
func drawnRule(r *rapid.T, held v1alpha1.HeldField) v1alpha1.HeldField {
	value := func(v any) *runtime.RawExtension {
		raw, err := json.Marshal(v)
		require.NoError(r, err)
		return &runtime.RawExtension{Raw: raw}
	}
	switch rapid.SampledFrom([]string{"bounds", "oneOf", "pattern", "rule", "keys", "mode"}).Draw(r, "rule") {
	case "bounds":
		held.Minimum = value(rapid.IntRange(-3, 2).Draw(r, "minimum"))
		if rapid.Bool().Draw(r, "both") {
			held.Maximum = value(rapid.IntRange(2, 9).Draw(r, "maximum"))
		}
	case "oneOf":
		held.OneOf = []runtime.RawExtension{*value(rapid.IntRange(0, 3).Draw(r, "one")), *value("a")}
	case "pattern":
		held.Pattern = ".*"
	case "rule":
		held.Rule = rapid.SampledFrom([]string{"self != 'a'", "type(self) != int || self < 3"}).Draw(r, "cel")
	case "keys":
		held.Keys = &v1alpha1.HeldKeys{Hold: []string{rapid.SampledFrom([]string{"*", "a*", "v*"}).Draw(r, "keys")}}
	default:
		held.Mode = rapid.SampledFrom([]v1alpha1.HeldMode{"hold", "push", "report", "absent"}).Draw(r, "mode")
	}
	return held
}

// isBeyondAList reports whether a path names a field that no list element has. A list without keys is
// one value, which contains such a field.
func isBeyondAList(path string) bool {
	return strings.Contains(path, "[") && strings.Contains(path, "v9")
}

// drawnPath returns a path in a spec. The path may name a field that the spec lacks.
func drawnPath(r *rapid.T, spec map[string]any) string {
	var path strings.Builder
	path.WriteString("spec")
	var at any = spec
	for rapid.IntRange(0, 4).Draw(r, "deeper") > 0 {
		switch v := at.(type) {
		case map[string]any:
			name := rapid.SampledFrom(append(keys(v), "v9")).Draw(r, "name")
			if rapid.IntRange(0, 8).Draw(r, "all") == 0 && len(v) > 0 {
				path.WriteString("[*]")
				return path.String()
			}
			path.WriteString("." + name)
			at = v[name]
		case []any:
			if len(v) == 0 || rapid.IntRange(0, 3).Draw(r, "every") == 0 {
				path.WriteString("[*]")
				return path.String()
			}
			i := rapid.IntRange(0, len(v)-1).Draw(r, "element")
			path.WriteString("[" + string(rune('0'+i)) + "]")
			at = v[i]
		default:
			return path.String()
		}
	}
	return path.String()
}

const freed = `
manifest:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web}
  spec:
    replicas: 2
    paused: false
    selector: {matchLabels: {app: web}}
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
fields:
- {resource: {kind: Deployment, name: web}, free: [spec.replicas]}
`

// A field that left the manifest is removed also if the item names further fields. A learned one keeps its value.
func TestALearnedFieldIsReleasedWithItsValue(t *testing.T) {
	spec := func(data, hold string) string {
		return "manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {" + data + `}}]
fields: [{resource: {kind: ConfigMap, name: c}, hold: ["*"` + hold + "]}]"
	}
	w := newWorld(t, spec("a: x, b: x", ", data.theirs"))
	w.respond = func(object map[string]any) {
		if get(object, "data", "theirs") == nil {
			set(object, "learned", "data", "theirs")
		}
	}
	w.round()
	w.quiet()
	w.edit(spec("a: x", ", data.theirs"))
	w.round()
	require.Equal(t, map[string]any{"a": "x", "theirs": "learned"}, get(w.only(), "data"))
	w.set("other", "data", "theirs")
	w.round()
	require.Equal(t, "learned", get(w.only(), "data", "theirs"), "it is held")
	w.edit(spec("a: x", ""))
	w.respond = nil
	w.round()
	w.quiet()
	assert.Equal(t, map[string]any{"a": "x", "theirs": "learned"}, get(w.only(), "data"))
}

// A released field keeps its live value if it is also dropped from the manifest, at once or later.
func TestAFreedFieldIsNeverRemoved(t *testing.T) {
	without := strings.Replace(freed, "    replicas: 2\n", "", 1)
	before, _, _ := strings.Cut(freed, "fields:")
	nothing, _, _ := strings.Cut(without, "fields:")
	for _, row := range []struct {
		name   string
		before string
		after  []string
	}{
		{"at once", before, []string{without}},
		{"first freed, then dropped", freed, []string{without}},
		{"first freed, then dropped, then without spec.fields", freed, []string{without, nothing}},
		{"first freed, then without both", freed, []string{nothing}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.before)
			w.round()
			w.quiet()
			for _, spec := range row.after {
				w.edit(spec)
				w.round()
				w.round()
				w.quiet()
			}
			assert.EqualValues(t, 2, w.only()["spec"].(map[string]any)["replicas"])
			w.edit(strings.Replace(row.after[len(row.after)-1], "    paused: false\n", "", 1))
			w.round()
			assert.NotContains(t, w.only()["spec"], "paused", "what is held follows the manifest")
		})
	}
}

// List elements that the API server or another client adds are not drift under a schema that extends the
// default schema. Elements that the manifest drops are removed.
func TestFreedFieldsKeepWhatServersAdd(t *testing.T) {
	for _, more := range []string{"", "\n  hold: [\"*\", spec.revisionHistoryLimit]"} {
		w := newWorld(t, strings.TrimSuffix(strings.Replace(freed, "{resource: {kind: Deployment, name: web}, free: [spec.replicas]}", "resource: {kind: Deployment, name: web}\n  free: [spec.replicas]", 1), "\n")+more)
		w.respond = func(o map[string]any) {
			if o["spec"].(map[string]any)["revisionHistoryLimit"] == nil {
				o["spec"].(map[string]any)["revisionHistoryLimit"] = int64(10)
			}
			pod := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			if containers := pod["containers"].([]any); len(containers) == 1 {
				pod["containers"] = append(containers, map[string]any{"name": "proxy", "image": "proxy:1"})
			}
		}
		w.round()
		w.quiet()
		pod := w.only()["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		pod["containers"] = append(pod["containers"].([]any), map[string]any{"name": "more", "image": "more:1"})
		w.only()["spec"].(map[string]any)["revisionHistoryLimit"] = int64(2)
		p, _ := w.round()
		assert.NotContains(t, paths(p), "spec.template.spec.containers[name=more] extra")
		assert.Equal(t, more != "", w.only()["spec"].(map[string]any)["revisionHistoryLimit"] == int64(10), "learned, and held")
		w.quiet()
	}
}

// An invalid spec.fields item makes the plan invalid and does not panic. Files and etcd can contain
// items that were never validated.
func TestHoldsThatAreNoPaths(t *testing.T) {
	w := newWorld(t, freed)
	require.NoError(t, json.Unmarshal([]byte(`[{"resource": {"kind": "Deployment", "name": "web"}, "hold": [5, {"path": "spec.replicas"}, {"path": 5}, "spec.paused", {"path": "spec.replicas", "minium": 1}]}]`), &w.app.Spec.Fields))
	p := w.decide()
	require.NotNil(t, p.Invalid)
	assert.Equal(t, v1alpha1.ReasonObserverSchemaInvalid, p.Invalid.Reason)
	assert.Equal(t, "fields[0].hold[0] (Deployment web): must be a path, as text, or an object with a path and a rule, not a number\n"+
		"fields[0].hold[2] (Deployment web): path cannot be of type number\n"+
		"fields[0].hold[4] (Deployment web): unknown field \"minium\"", p.Invalid.Message)
	raw, err := json.Marshal(w.app.Spec.Fields[0].Hold[1])
	require.NoError(t, err)
	assert.Equal(t, `"spec.replicas"`, string(raw))
}

// TestHoldThenFreeIsAsBefore holds a free field and frees it again, or the reverse, with and without a schema in
// spec.observerSchema. Spec and plan do not change.
func TestHoldThenFreeIsAsBefore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		spec := observertest.Spec(r)
		path := drawnPath(r, spec)
		w := newWorld(t, "manifest: []")
		if isBeyondAList(path) {
			return
		}
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		if rapid.Bool().Draw(r, "written") {
			options := observertest.Options{Walked: true, Bounded: rapid.Bool().Draw(r, "bounded")}
			w.app.Spec.ObserverSchema = raws(observertest.Entry(r, spec, options).Raw())
		}
		for range rapid.IntRange(0, 1).Draw(r, "said") {
			w.app.Spec.Fields = append(w.app.Spec.Fields, drawnFields(r, spec))
			if rapid.Bool().Draw(r, "wildcard") {
				w.app.Spec.Fields[0].Resource.Name = "*"
			}
		}
		w.app.Spec.Fields = normal(w.app.Spec.Fields, len(w.app.Spec.ObserverSchema) > 0)
		if rapid.IntRange(0, 2).Draw(r, "profiled") == 0 {
			var said []string
			if w.profiles.All, said = drawnProfile(r, spec); overlaps(path, said) {
				return // a field that is held in part and then freed is not held in part again
			}
		}
		before := w.decide()
		if before.Invalid != nil || saysTooMuch(r, before, w.app.Spec.Fields) {
			return
		}
		free := rapid.Bool().Draw(r, "free")
		edit := intent.Edit{Free: free, Paths: []string{path}}
		if _, held, err := before.EditFields(observertest.ID, edit); !free && err == nil && len(held) == 0 && rapid.Bool().Draw(r, "with a rule") {
			edit.Rule = drawnRule(r, v1alpha1.HeldField{})
		}
		if isRuled := strings.Contains(sorted(r, w.app.Spec.Fields), `{"path"`); isRuled || len(w.app.Spec.ObserverSchema) > 0 {
			if _, notes, err := before.EditFields(observertest.ID, intent.Edit{Free: !free, Paths: edit.Paths}); err != nil || len(notes) == 0 {
				return // holding the field to one value removes its rule, or the schema holds a part of it
			}
		}
		once, notes, err := before.EditFields(observertest.ID, edit)
		if err != nil || len(notes) > 0 {
			return
		}
		after := before.WithFields(once)
		if edit.Rule.HasRule() && after.Invalid != nil {
			return // the manifest violates the rule
		}
		require.Nil(r, after.Invalid)
		again, notes, err := after.EditFields(observertest.ID, edit)
		require.NoError(r, err)
		require.Len(r, notes, 1, "twice is once")
		require.Equal(r, sorted(r, once), sorted(r, again))

		back, notes, err := after.EditFields(observertest.ID, intent.Edit{Free: !free, Paths: edit.Paths})
		require.NoError(r, err)
		require.Empty(r, notes)
		require.Equal(r, changes(r, before), changes(r, before.WithFields(back)))
		require.Equal(r, sorted(r, w.app.Spec.Fields), sorted(r, back))
	})
}

// saysTooMuch reports whether a path can be removed from the fields without a change of the plan.
func saysTooMuch(t require.TestingT, p *plan.Plan, fields []v1alpha1.ResourceFields) bool {
	for i, f := range fields {
		for k := range len(f.Hold) + len(f.Free) {
			less := append([]v1alpha1.ResourceFields{}, fields...)
			less[i] = *f.DeepCopy()
			if k < len(f.Hold) {
				less[i].Hold = slices.Delete(less[i].Hold, k, k+1)
			} else {
				less[i].Free = slices.Delete(less[i].Free, k-len(f.Hold), k-len(f.Hold)+1)
			}
			if q := p.WithFields(less); q.Invalid == nil && unnamed(t, q) == unnamed(t, p) {
				return true
			}
		}
	}
	return false
}

// normal returns nil for fields that have no effect, and otherwise the fields.
func normal(fields []v1alpha1.ResourceFields, written bool) []v1alpha1.ResourceFields {
	if written && len(fields) == 1 && len(fields[0].Hold) == 0 {
		if fields[0].Hold = nil; len(fields[0].Free) == 0 {
			return nil
		}
	}
	if len(fields) == 1 && len(fields[0].Free) == 0 && len(fields[0].Hold) == 1 && fields[0].Hold[0].Path == observer.AllFields {
		return nil
	}
	return fields
}

// sorted returns fields as JSON, with sorted and normalized paths.
func sorted(t require.TestingT, fields []v1alpha1.ResourceFields) string {
	all := append([]v1alpha1.ResourceFields{}, fields...)
	for i := range all {
		all[i] = *all[i].DeepCopy()
		for k, path := range all[i].Free {
			all[i].Free[k] = plainly(path)
		}
		for k, held := range all[i].Hold {
			all[i].Hold[k].Path = plainly(held.Path)
		}
		slices.Sort(all[i].Free)
		slices.SortFunc(all[i].Hold, func(a, b v1alpha1.HeldField) int { return strings.Compare(a.Path, b.Path) })
	}
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	return string(raw)
}

// plainly returns a drawn path in the form that an edit writes.
func plainly(path string) string { return strings.ReplaceAll(path, ".m/2", "['m/2']") }

// The errors about rules in a schema name items of spec.fields with the effect of these rules.
func TestRulesInASchemaMoveToFields(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, "manifest: []")
		spec := observertest.Spec(r)
		w.app.Spec.Manifest = raws(observertest.Manifest(spec).Content)
		entry := observertest.Entry(r, spec, observertest.Options{Known: true, Walked: true, Bounded: true, Rules: true})
		observe(r, w, entry)
		require.Equal(r, entry.HasRules(), w.app.Spec.Fields != nil)
		moved := w.decide()
		require.Nil(r, moved.Invalid, "%v", w.app.Spec.Fields)
		recorded := explain.ViewOf(moved).Status.MangledObserverSchema
		require.Len(r, recorded, 1)
		require.Equal(r, entry.Raw(), recorded[0], "%v", w.app.Spec.Fields)
	})
}

// observe sets the observer schema of an Application, and the rules in it as the items of spec.fields that the
// validation errors name.
func observe(r *rapid.T, w *world, entry *observer.Schema) {
	_, err := observer.ParseAll([]map[string]any{entry.Raw()})
	w.app.Spec.Fields = nil
	for _, fault := range manifest.Unjoin[error](err) {
		var item v1alpha1.ResourceFields
		_, text, _ := strings.Cut(fault.Error(), "add to spec.fields: ")
		require.NoError(r, json.Unmarshal([]byte(text), &item), "%s", fault)
		if w.app.Spec.Fields != nil {
			item.Hold = slices.Concat(w.app.Spec.Fields[0].Hold, item.Hold)
		}
		w.app.Spec.Fields = []v1alpha1.ResourceFields{item}
	}
	w.app.Spec.ObserverSchema = raws(withoutRules(entry.Raw()).(map[string]any))
}

// withoutRules returns a schema with observed in place of each rule.
func withoutRules(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if slices.Contains([]string{observer.KeyMode, observer.KeyRule, observer.KeyMinimum, observer.KeyMaximum}, name) {
				return observer.LeafText
			}
			v[name] = withoutRules(child)
		}
	case []any:
		for i, child := range v {
			v[i] = withoutRules(child)
		}
	}
	return v
}
