package plan

import (
	"encoding/json"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Edit is a change of what is held of a resource.
type Edit struct {
	// Free says that the paths are free from now on, and not held.
	Free  bool
	Paths []string
	// OnRelease says what becomes of fields of a shared object that are freed; not set: what
	// spec.onRelease says.
	OnRelease v1alpha1.ReleasePolicy
	// Rule has what stands beside each path that is held, if anything does.
	Rule v1alpha1.HeldField
}

// EditFields is spec.fields with paths of a resource held from now on, or free. What is
// said already it leaves as it is, with a note. To hold a path that is free, and then to
// free it, leaves what was there before, and so the other way round.
func (p *Plan) EditFields(id manifest.ID, edit Edit) (fields []v1alpha1.ResourceFields, notes []string, err error) {
	object, err := p.manifestOf(id)
	if err != nil {
		return nil, nil, err
	}
	fields = p.in.Application.DeepCopy().Spec.Fields
	e := &fieldsEditor{plan: p, object: object, edit: edit, at: -1, profiles: p.profiled(object)}
	for _, f := range fieldsIn(p.in.Application) {
		switch {
		case !means(f, object):
		case !hasWildcard(f):
			e.at = f.Position
		default:
			inherited := fields[f.Position]
			e.inherited = &inherited
		}
	}
	switch {
	case e.at >= 0:
		e.entry = fields[e.at]
	case e.inherited != nil:
		e.entry = *e.inherited.DeepCopy()
	}
	for _, path := range edit.Paths {
		note, err := e.apply(path)
		if err != nil {
			return nil, nil, err
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return e.store(fields), notes, nil
}

// manifestOf is the manifest of a resource whose schema spec.fields may say.
func (p *Plan) manifestOf(id manifest.ID) (manifest.Object, error) {
	objects, _, err := objectsOf(p.in)
	if err != nil {
		return manifest.Object{}, err
	}
	at := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.ID == id })
	if at < 0 {
		return manifest.Object{}, fmt.Errorf("%s is not among the manifests of the Application", id)
	}
	if source := p.SchemaSource(id); source.Entry {
		return manifest.Object{}, fmt.Errorf("%s has an entry in spec.%s, which says all of its fields: change that, or take it out first", id, source)
	}
	return objects[at], nil
}

// profiled are what profiles say of a resource.
func (p *Plan) profiled(object manifest.Object) []observer.ProfilePath {
	objects, _, err := objectsOf(p.in)
	if err != nil || IsShared(p.in.Application, object.Ownership) {
		return nil
	}
	return profilerOf(p.in, objects).pathsFor(object)
}

// fieldsIn are those entries of spec.fields that can be read.
func fieldsIn(app *v1alpha1.Application) []*observer.Fields {
	fields, _ := fieldsOf(app)
	return fields
}

// fieldsEditor changes what is said of one resource.
type fieldsEditor struct {
	plan   *Plan
	object manifest.Object
	edit   Edit
	// entry is what is said of it, at its position in spec.fields or -1; inherited is the
	// entry with a wildcard that means it, too.
	entry     v1alpha1.ResourceFields
	at        int
	inherited *v1alpha1.ResourceFields
	// profiles are what profiles say of it before.
	profiles []observer.ProfilePath
}

// apply has a path held, or free, and returns a note if it is that already.
func (e *fieldsEditor) apply(typed string) (note string, err error) {
	path, err := observer.ParseFieldPath(typed)
	if err != nil {
		return "", err
	}
	named, err := observer.Named(e.object, path, e.context())
	if err != nil {
		return "", err
	}
	text := typed
	if !path.HasWildcard() && len(named) == 1 {
		text = named[0]
	}
	less := e.without(text)
	more := e.with(less, text)
	var made [3]*observer.Schema
	for i, entry := range []v1alpha1.ResourceFields{e.entry, less, more} {
		if made[i], err = e.compiled(entry); err != nil {
			return "", err
		}
	}
	// What becomes of a path is said of it even if nothing else holds it.
	isSaid := e.edit.OnRelease == "" || made[1].Released(text) == made[2].Released(text)
	switch {
	case made[0].SameAs(made[2]) && made[0].Released(text) == made[2].Released(text):
		return noChangeNote(text, e.edit.Free), nil
	case !made[1].SameAs(made[2]) || !isSaid:
		e.entry = more
	case !made[0].SameAs(made[1]):
		e.entry = less
	default:
		return noChangeNote(text, e.edit.Free), nil
	}
	return "", nil
}

// context is what is known of the resource.
func (e *fieldsEditor) context() observer.Context {
	in, gvk := e.plan.in, e.object.GVK()
	return observer.Context{
		Type: in.Kinds.Type(gvk), Published: published(in.Kinds, gvk), Live: in.Live[e.object.ID], Shared: IsShared(in.Application, e.object.Ownership),
	}
}

// compiled is the schema that an entry makes.
func (e *fieldsEditor) compiled(entry v1alpha1.ResourceFields) (*observer.Schema, error) {
	if entry.Hold == nil && !entry.Frees() {
		entry.Hold = []v1alpha1.HeldField{{Path: observer.AllFields}}
	}
	app := &v1alpha1.Application{}
	app.Spec.Fields = []v1alpha1.ResourceFields{entry}
	all, faults := fieldsOf(app)
	if len(faults) > 0 {
		return nil, faults[0]
	}
	all[0].Profiles = e.profiles
	compiled := all[0].Compile(e.object, e.context())
	if len(compiled.Faults) > 0 {
		return nil, compiled.Faults[0]
	}
	return compiled.Entry, nil
}

// without is the entry without what it says of a path that is to be said otherwise.
func (e *fieldsEditor) without(text string) v1alpha1.ResourceFields {
	less := *e.entry.DeepCopy()
	if !e.edit.Free || e.edit.OnRelease != "" {
		for _, list := range []*[]string{&less.Free, &less.Leave, &less.Restore} {
			if e.edit.Free && list == e.listOf(&less) {
				continue
			}
			*list = slices.DeleteFunc(*list, func(path string) bool { return e.matches(path, text) })
		}
	}
	less.Hold = slices.DeleteFunc(less.Hold, func(f v1alpha1.HeldField) bool {
		return e.matches(f.Path, text) && (e.edit.Free || !sameRule(f, e.edit.Rule))
	})
	return less
}

// sameRule reports whether the same stands beside two paths.
func sameRule(a, b v1alpha1.HeldField) bool {
	a.Path, b.Path = "", ""
	return apiequality.Semantic.DeepEqual(a, b)
}

// matches reports whether a path of an entry is one, written as it may be.
func (e *fieldsEditor) matches(written, text string) bool {
	return written == text || e.normalizePath(written) == text
}

// normalizePath is a path that means one field as it is printed, and any other as it is written.
func (e *fieldsEditor) normalizePath(written string) string {
	path, err := observer.ParseFieldPath(written)
	if err != nil || path.HasWildcard() {
		return written
	}
	if named, err := observer.Named(e.object, path, e.context()); err == nil && len(named) == 1 {
		return named[0]
	}
	return written
}

// with is the entry with a path more.
func (e *fieldsEditor) with(entry v1alpha1.ResourceFields, text string) v1alpha1.ResourceFields {
	more := *entry.DeepCopy()
	if e.edit.Free {
		list := e.listOf(&more)
		*list = append(*list, text)
		return more
	}
	if more.Hold == nil {
		more.Hold = []v1alpha1.HeldField{{Path: observer.AllFields}}
	}
	held := *e.edit.Rule.DeepCopy()
	held.Path = text
	more.Hold = append(more.Hold, held)
	return more
}

// listOf is the list of an entry in which paths are freed.
func (e *fieldsEditor) listOf(entry *v1alpha1.ResourceFields) *[]string {
	switch e.edit.OnRelease {
	case v1alpha1.ReleaseLeave:
		return &entry.Leave
	case v1alpha1.ReleaseRestore:
		return &entry.Restore
	}
	return &entry.Free
}

// store writes the entry among the others. One that says no more than there is without it
// goes.
func (e *fieldsEditor) store(fields []v1alpha1.ResourceFields) []v1alpha1.ResourceFields {
	if len(e.entry.Hold) == 1 && e.entry.Hold[0].Path == observer.AllFields {
		e.entry.Hold = nil
	}
	isDefault := e.entry.Hold == nil && !e.entry.Frees()
	isNeedless := isDefault && e.inherited == nil || e.inherited != nil && e.sameItems(e.entry, *e.inherited)
	if isDefault {
		e.entry.Hold = []v1alpha1.HeldField{{Path: observer.AllFields}} // in spite of the wildcard
	}
	switch {
	case isNeedless && e.at >= 0:
		return slices.Delete(fields, e.at, e.at+1)
	case isNeedless:
		return fields
	case e.at >= 0:
		fields[e.at] = e.entry
		return fields
	}
	e.entry.Resource = e.selector()
	return append(fields, e.entry)
}

// sameItems reports whether two entries have the same paths, in whatever order.
func (e *fieldsEditor) sameItems(a, b v1alpha1.ResourceFields) bool {
	sorted := func(f v1alpha1.ResourceFields) (all []string) {
		for _, held := range f.Hold {
			held.Path = e.normalizePath(held.Path)
			raw, _ := json.Marshal(held) // what was read can be written
			all = append(all, "hold "+string(raw))
		}
		for list, paths := range map[string][]string{"free ": f.Free, "leave ": f.Leave, "restore ": f.Restore} {
			for _, path := range paths {
				all = append(all, list+e.normalizePath(path))
			}
		}
		slices.Sort(all)
		return all
	}
	return (a.Hold == nil) == (b.Hold == nil) && slices.Equal(sorted(a), sorted(b))
}

// selector means the resource and no other of the Application, nor one that may be selected
// later.
func (e *fieldsEditor) selector() v1alpha1.ResourceSelector {
	id := e.object.ID
	s := v1alpha1.ResourceSelector{Kind: id.Kind, Name: id.Name}
	for _, change := range e.plan.Changes {
		switch other := change.ID; {
		case other == id || other.Kind != id.Kind || other.Name != id.Name:
		case other.Group != id.Group:
			s.APIVersion = e.object.APIVersion
		default:
			s.Namespace = id.Namespace
		}
	}
	for _, entry := range e.plan.in.Application.Spec.Select {
		if entry.Kind == id.Kind && len(entry.Namespaces) > 0 {
			s.Namespace = id.Namespace
		}
	}
	return s
}

// EditSchema is spec.observerSchema with paths of a resource that has an entry there held
// from now on, or free. What is said already it leaves as it is, with a note.
func (p *Plan) EditSchema(id manifest.ID, edit Edit) (schema []runtime.RawExtension, notes []string, err error) {
	object, position, err := p.entryOf(id)
	if err != nil {
		return nil, nil, err
	}
	schema = p.in.Application.DeepCopy().Spec.ObserverSchema
	entry, err := manifest.DecodeJSON(schema[position].Raw)
	if err != nil {
		return nil, nil, err
	}
	e := &fieldsEditor{plan: p, object: object}
	for _, path := range edit.Paths {
		f, err := fieldsOfEdit(object, edit, path)
		if err != nil {
			return nil, nil, err
		}
		edited, err := observer.EditEntry(entry, f, object, e.context())
		if err != nil {
			return nil, nil, err
		}
		if observer.Equal(entry, edited) {
			notes = append(notes, noChangeNote(path, edit.Free))
		}
		entry = edited
	}
	schema[position].Raw, err = json.Marshal(entry)
	return schema, notes, err
}

// fieldsOfEdit is a change of one path as an entry of spec.fields says it.
func fieldsOfEdit(object manifest.Object, edit Edit, text string) (*observer.Fields, error) {
	path, err := observer.ParseFieldPath(text)
	if err != nil {
		return nil, err
	}
	f := &observer.Fields{Kind: object.ID.Kind, Name: object.ID.Name, OnlyHold: true}
	if edit.Free {
		f.Free = []*observer.FieldPath{path}
		return f, nil
	}
	f.Hold = []*observer.FieldPath{path}
	if faults := ruleOf(f, 0, edit.Rule); len(faults) > 0 {
		return nil, faults[0]
	}
	return f, nil
}

// entryOf is a resource and the position of its entry.
func (p *Plan) entryOf(id manifest.ID) (manifest.Object, int, error) {
	source := p.SchemaSource(id)
	objects, _, err := objectsOf(p.in)
	if err != nil {
		return manifest.Object{}, 0, err
	}
	for _, object := range objects {
		if object.ID == id && source.Entry && source.Position < len(p.in.Application.Spec.ObserverSchema) {
			return object, source.Position, nil
		}
	}
	return manifest.Object{}, 0, fmt.Errorf("%s has no entry in spec.observerSchema", id)
}

// noChangeNote says that there is nothing to change.
func noChangeNote(path string, free bool) string {
	if free {
		return path + " is free already"
	}
	return path + " is held already"
}
