package observertest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Managers maintains the managedFields of an object with the library of the API server.
type Managers struct {
	object  typed.ParseableType
	updater *merge.Updater
	// sets has an entry for each manager that updates, by its name, and for each that applies, by its name with the
	// prefix applies.
	sets  fieldpath.ManagedFields
	times map[string]time.Time
	// emptied is true if a client has emptied managedFields. An API server then tracks no updates.
	emptied bool
}

const (
	applies = "apply "
	version = fieldpath.APIVersion("example.com/v1")
	// beforeFirstApply is the manager of all fields that an object without managedFields has at the first apply.
	beforeFirstApply = "before-first-apply"
)

// NewManagers returns the managers of a new object. The spec has the given type, which can refer to types.
func NewManagers(spec smd.TypeRef, types ...smd.TypeDef) *Managers {
	metadata := smd.TypeRef{Inlined: structOf(smd.StructField{Name: "labels", Type: AnyValue}, smd.StructField{Name: "annotations", Type: AnyValue})}
	root := structOf(smd.StructField{Name: "metadata", Type: metadata}, smd.StructField{Name: "spec", Type: spec})
	root.Map.ElementType = AnyValue
	types = append(slices.Clone(types), smd.TypeDef{Name: "root", Atom: root}, smd.TypeDef{Name: "any", Atom: anyAtom()})
	parser := typed.Parser{Schema: smd.Schema{Types: types}}
	return &Managers{
		object: parser.Type("root"), updater: (&merge.UpdaterBuilder{Converter: oneVersion{}}).BuildUpdater(),
		sets: fieldpath.ManagedFields{}, times: map[string]time.Time{},
	}
}

var (
	untyped = smd.Untyped
	// AnyValue is the type of a value of any type, in which lists have no keys. NewManagers defines it.
	AnyValue = smd.TypeRef{NamedType: new("any")}
)

func anyAtom() smd.Atom {
	return smd.Atom{
		Scalar: &untyped, List: &smd.List{ElementType: AnyValue, ElementRelationship: smd.Atomic}, Map: &smd.Map{ElementType: AnyValue},
	}
}

func structOf(fields ...smd.StructField) smd.Atom { return smd.Atom{Map: &smd.Map{Fields: fields}} }

// oneVersion converts objects of a kind with only one version.
type oneVersion struct{}

func (oneVersion) Convert(object *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return object, nil
}

func (oneVersion) IsMissingVersionError(error) bool { return false }

// NewManagers returns the managers of a new object with a spec of Type. The server does not check types, so each field
// can have a value of another type.
func (s Server) NewManagers() *Managers {
	if !s.Typed {
		return NewManagers(AnyValue)
	}
	spec := smd.TypeRef{NamedType: new("spec")}
	field := func(name string, change func(*smd.Atom)) smd.StructField {
		atom := anyAtom()
		change(&atom)
		return smd.StructField{Name: name, Type: smd.TypeRef{Inlined: atom}}
	}
	keyed := func(a *smd.Atom) {
		a.List = &smd.List{ElementType: spec, ElementRelationship: smd.Associative, Keys: []string{"name"}}
	}
	set := func(a *smd.Atom) { a.List = &smd.List{ElementType: AnyValue, ElementRelationship: smd.Associative} }
	fields := anyAtom()
	fields.Map = &smd.Map{ElementType: AnyValue, Fields: []smd.StructField{
		{Name: "m1", Type: spec}, {Name: "m/2", Type: spec}, field("k1", keyed), field("k2", keyed), field("s1", set),
	}}
	return NewManagers(spec, smd.TypeDef{Name: "spec", Atom: fields})
}

// Update records a write, including the defaults that the API server has added because of it.
func (m *Managers) Update(before, after map[string]any, manager string, now time.Time) error {
	if m.emptied {
		return nil
	}
	was, err := m.typed(before)
	if err != nil {
		return err
	}
	is, err := m.typed(after)
	if err != nil {
		return err
	}
	return m.change(now, func() error {
		_, sets, err := m.updater.Update(was, is, version, m.sets, manager)
		m.sets = sets
		return err
	})
}

// Apply returns the object after a server-side apply of some of its fields, before the API server adds defaults. Without
// force, a field of another manager with another value is an error.
func (m *Managers) Apply(before, fields map[string]any, manager string, force bool, now time.Time) (map[string]any, error) {
	live, err := m.typed(before)
	if err != nil {
		return nil, err
	}
	config, err := m.typed(fields)
	if err != nil {
		return nil, err
	}
	object := live
	err = m.change(now, func() error {
		sets := m.sets.Copy()
		if m.emptied {
			whole, err := live.ToFieldSet()
			if err != nil {
				return err
			}
			sets[beforeFirstApply] = fieldpath.NewVersionedSet(whole, version, false)
		}
		next, sets, err := m.updater.Apply(live, config, version, sets, applies+manager, force)
		if err != nil {
			return err
		}
		m.sets, m.emptied = sets, false
		if next != nil { // something has changed
			object = next
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	after := maps.Clone(before)
	after["spec"] = object.AsValue().Unstructured().(map[string]any)["spec"]
	return after, nil
}

// Empty empties managedFields, as a client does that writes the list [{}].
func (m *Managers) Empty() {
	m.sets, m.emptied = fieldpath.ManagedFields{}, true
}

// Applied returns the part of an object that managers apply, with the keys of list elements.
func (m *Managers) Applied(object map[string]any) (map[string]any, error) {
	all := &fieldpath.Set{}
	for _, set := range m.sets {
		if set.Applied() {
			all = all.Union(set.Set())
		}
	}
	live, err := m.typed(object)
	if err != nil {
		return nil, err
	}
	part, _ := live.ExtractItems(all.Leaves(), typed.WithAppendKeyFields()).AsValue().Unstructured().(map[string]any)
	return part, nil
}

// change makes a change, and sets the times of the entries that it changes.
func (m *Managers) change(now time.Time, change func() error) error {
	old := m.sets.Copy()
	if err := change(); err != nil {
		return err
	}
	for name := range m.sets {
		if old[name] == nil || !old[name].Set().Equals(m.sets[name].Set()) {
			m.times[name] = now
		}
	}
	return nil
}

// typed returns the part of an object that managedFields describe.
func (m *Managers) typed(object map[string]any) (*typed.TypedValue, error) {
	metadata := map[string]any{}
	for _, field := range []string{"labels", "annotations"} {
		if value := Get(object, "metadata", field); value != nil {
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
	return m.object.FromUnstructured(rest, typed.AllowDuplicates)
}

// List returns the managedFields. It is empty, and not nil, if there are none.
func (m *Managers) List() []any {
	entries := []any{}
	for _, name := range slices.Sorted(maps.Keys(m.sets)) {
		raw, err := m.sets[name].Set().ToJSON()
		if err != nil {
			panic(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			panic(err)
		}
		manager, isApplied := strings.CutPrefix(name, applies)
		operation := metav1.ManagedFieldsOperationUpdate
		if isApplied {
			operation = metav1.ManagedFieldsOperationApply
		}
		entries = append(entries, map[string]any{
			"manager": manager, "operation": string(operation), "apiVersion": string(version),
			"time": m.times[name].Format(time.RFC3339), "fieldsType": "FieldsV1", "fieldsV1": fields,
		})
	}
	return entries
}
