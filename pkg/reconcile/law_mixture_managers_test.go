package reconcile_test

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

// managers maintains the managedFields of an object with the library of the API server.
type managers struct {
	object  merged.ParseableType
	updater *merge.Updater
	sets    fieldpath.ManagedFields
	times   map[string]time.Time
}

// newManagers returns the managers of a new object. The spec has the given type, which can refer to types.
func newManagers(spec smd.TypeRef, types ...smd.TypeDef) *managers {
	metadata := smd.TypeRef{Inlined: structOf(smd.StructField{Name: "labels", Type: anyValue}, smd.StructField{Name: "annotations", Type: anyValue})}
	root := structOf(smd.StructField{Name: "metadata", Type: metadata}, smd.StructField{Name: "spec", Type: spec})
	root.Map.ElementType = anyValue
	types = append(slices.Clone(types), smd.TypeDef{Name: "root", Atom: root}, smd.TypeDef{Name: "any", Atom: anything()})
	parser := merged.Parser{Schema: smd.Schema{Types: types}}
	return &managers{
		object: parser.Type("root"), updater: (&merge.UpdaterBuilder{Converter: oneVersion{}}).BuildUpdater(),
		sets: fieldpath.ManagedFields{}, times: map[string]time.Time{},
	}
}

var (
	untyped  = smd.Untyped
	anyValue = smd.TypeRef{NamedType: new("any")}
)

// anything returns the schema of a value of any type, in which lists have no keys.
func anything() smd.Atom {
	return smd.Atom{
		Scalar: &untyped, List: &smd.List{ElementType: anyValue, ElementRelationship: smd.Atomic}, Map: &smd.Map{ElementType: anyValue},
	}
}

func structOf(fields ...smd.StructField) smd.Atom { return smd.Atom{Map: &smd.Map{Fields: fields}} }

// oneVersion converts objects of a kind with only one version.
type oneVersion struct{}

func (oneVersion) Convert(object *merged.TypedValue, _ fieldpath.APIVersion) (*merged.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// update records a write, including the defaults that the API server has added because of it.
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

// managed returns the part of an object that managedFields describe.
func managed(object map[string]any) map[string]any {
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if value := get(object, "metadata", field); value != nil {
			metadata[field] = value
		}
	}
	rest := maps.Clone(object)
	if rest == nil {
		rest = map[string]any{}
	}
	rest["metadata"] = metadata
	delete(rest, "apiVersion")
	delete(rest, "kind")
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
