package turn_test

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	merged "sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/internal/observertest"
)

// managers keeps the managedFields of an object as an API server does, with its library.
type managers struct {
	object  merged.ParseableType
	updater *merge.Updater
	sets    fieldpath.ManagedFields
	times   map[string]time.Time
}

func newManagers(spec *part) *managers {
	untyped := smd.Untyped
	text := smd.TypeRef{Inlined: smd.Atom{Scalar: &untyped}}
	texts := smd.TypeRef{Inlined: smd.Atom{Map: &smd.Map{ElementType: text}}}
	fields := func(fields ...smd.StructField) smd.Atom { return smd.Atom{Map: &smd.Map{Fields: fields}} }
	metadata := smd.TypeRef{Inlined: fields(smd.StructField{Name: "labels", Type: texts}, smd.StructField{Name: "annotations", Type: texts})}
	root := fields(smd.StructField{Name: "metadata", Type: metadata}, smd.StructField{Name: "spec", Type: spec.merged()})
	parser := merged.Parser{Schema: smd.Schema{Types: []smd.TypeDef{{Name: "root", Atom: root}}}}
	return &managers{
		object: parser.Type("root"), updater: (&merge.UpdaterBuilder{Converter: oneVersion{}}).BuildUpdater(),
		sets: fieldpath.ManagedFields{}, times: map[string]time.Time{},
	}
}

// oneVersion converts objects of a kind that has one version.
type oneVersion struct{}

func (oneVersion) Convert(object *merged.TypedValue, _ fieldpath.APIVersion) (*merged.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// update records a write, with what the API server has filled in because of it.
func (m *managers) update(before, after map[string]any, manager string, now time.Time) error {
	was, err := m.object.FromUnstructured(managed(before), merged.AllowDuplicates)
	if err != nil {
		return err
	}
	is, err := m.object.FromUnstructured(managed(after), merged.AllowDuplicates)
	if err != nil {
		return err
	}
	old := m.sets.Copy()
	if _, m.sets, err = m.updater.Update(was, is, fieldpath.APIVersion(observertest.GVK.GroupVersion().String()), m.sets, manager); err != nil {
		return err
	}
	for name := range m.sets {
		if old[name] == nil || !old[name].Set().Equals(m.sets[name].Set()) {
			m.times[name] = now
		}
	}
	return nil
}

// managed returns the part of an object that managedFields are about.
func managed(object map[string]any) map[string]any {
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if value := get(object, "metadata", field); value != nil {
			metadata[field] = value
		}
	}
	rest := map[string]any{"metadata": metadata}
	if spec := object["spec"]; spec != nil {
		rest["spec"] = spec
	}
	return rest
}

// list returns the managedFields.
func (m *managers) list() (entries []any) {
	for _, name := range slices.Sorted(maps.Keys(m.sets)) {
		raw, err := m.sets[name].Set().ToJSON()
		if err != nil {
			panic(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			panic(err)
		}
		entries = append(entries, map[string]any{
			"manager": name, "operation": "Update", "apiVersion": observertest.GVK.GroupVersion().String(),
			"time": m.times[name].Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	return entries
}
