package intent

import (
	"encoding/json"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Edit is a change of the held fields of a resource, by the commands hold and free. The command hold sets Paths and
// Rule, and free sets Free, Paths and OnRelease.
type Edit struct {
	// Free is true to free the paths, and false to hold them.
	Free bool
	// Paths are in the syntax of spec.fields.
	Paths []string
	// OnRelease is the release policy for fields of a shared object that are freed. If it is not set,
	// spec.onRelease applies.
	OnRelease v1alpha1.ReleasePolicy
	// Rule is the rule of each path that is held; its Path is ignored.
	Rule v1alpha1.HeldField
}

// EditFields returns spec.fields after an edit that holds or frees paths of a resource. If a path is already held or
// free, it changes nothing and returns a note. To hold a free path and then to free it restores spec.fields, and so
// does the reverse. others lists the IDs of all resources of the Application. The Application is not changed. For
// spec.fields without an item for Deployment web:
//
//	free spec.replicas     {resource: {…web}, free: [spec.replicas]}
//	hold spec.replicas     the item is removed again
//	hold spec.paused       {resource: {…web}, hold: ["*", spec.paused]}
//
// An error names the first path that is invalid, and nothing is changed then.
func EditFields(in Input, others []manifest.ID, id manifest.ID, edit Edit) (fields []v1alpha1.ResourceFields, notes []string, err error) {
	e := &fieldsEditor{in: in, others: others, edit: edit, at: -1}
	if err := e.read(id); err != nil {
		return nil, nil, err
	}
	fields = in.Application.DeepCopy().Spec.Fields
	items, _ := fieldsOf(in.Application) // without the paths that cannot be parsed
	for _, f := range items {
		switch {
		case !matchesObject(f, e.object):
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
	// A new item replaces the one with a wildcard for this resource, so it starts as a copy of it.
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

// fieldsEditor is an editor of the spec.fields item of one resource. It works on copies of the items.
type fieldsEditor struct {
	in     Input
	others []manifest.ID
	// object is the manifest of the resource. For a shared object, it contains only the fields to hold.
	object manifest.Object
	// written is the schema of the resource in spec.observerSchema; nil if it has none.
	written *observer.Schema
	edit    Edit
	// entry is the spec.fields item of the resource, and at its index, or -1. inherited is the item with a
	// wildcard that also matches the resource.
	entry     v1alpha1.ResourceFields
	at        int
	inherited *v1alpha1.ResourceFields
	// profiles are the paths of HoldProfiles, which apply before the item.
	profiles []observer.ProfilePath
}

// read sets the manifest of a resource, its schema in spec.observerSchema, and the paths of HoldProfiles. It returns an
// error if the manifests or the schemas are invalid. An edit of an Application that is invalid for another reason is
// refused: the effect of a path could not be computed.
func (e *fieldsEditor) read(id manifest.ID) error {
	objects, _, err := objectsOf(e.in)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(objects, func(o manifest.Object) bool { return o.ID == id })
	if at < 0 {
		return fmt.Errorf("%s is not in the manifests of the Application", id)
	}
	entries, err := schemaOf(e.in.Application)
	if err != nil {
		return err
	}
	assigned, err := observer.Assign(entries, objects)
	if err != nil {
		return err
	}
	e.object = objects[at]
	switch {
	case !assigned[at].Default:
		e.written = assigned[at]
	// Profiles have no effect on shared objects.
	case !claim.DesiredPolicy(e.in.Application, e.object.Ownership).Claims:
		e.profiles = profilerOf(e.in, objects).pathsFor(e.object)
	}
	return nil
}

// apply holds or frees a path. It returns a note if the path is already held or free. It compiles the item as it is,
// without the contradicting parts (less), and with the path (more), and compares the schemas:
//
//	the item as it is equals more   nothing changes, and a note is returned
//	less differs from more          the path is added
//	the item differs from less      the contradicting parts are removed, which is enough
//	otherwise                       nothing changes, and a note is returned
//
// A path can be held in many ways: by a longer path, a wildcard or a profile. So the schemas are compared, not the
// texts.
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
	isTracking := func(k claim.TrackingKey) bool { return observer.IsUnder(text, k.Path()) }
	if e.edit.Free && slices.ContainsFunc(slices.Concat(claim.TrackingKeys, claim.SharedTrackingKeys), isTracking) {
		return "", fmt.Errorf("%s cannot be free: it is tracking metadata of Holdfast", text)
	}
	less := e.without(text)
	more := e.with(less, text)
	var made [3]*observer.Schema
	for i, entry := range []v1alpha1.ResourceFields{e.entry, less, more} {
		if made[i], err = e.compiled(entry); err != nil {
			return "", err
		}
	}
	sameRelease := func(a, b *observer.Schema) bool {
		return !slices.ContainsFunc(e.added(text), func(path string) bool { return a.Released(path) != b.Released(path) })
	}
	// A release policy is stored even if the path is free in any case.
	isSaid := e.edit.OnRelease == "" || sameRelease(made[1], made[2])
	switch {
	// made contains the schemas of the item as it is, without the contradicting parts, and with the path.
	case made[0].SameAs(made[2]) && sameRelease(made[0], made[2]):
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

// context returns the context to compile the fields of the resource.
func (e *fieldsEditor) context() observer.Context {
	in, gvk := e.in, e.object.GVK()
	return observer.Context{
		Type: in.Kinds.Type(gvk), Published: Published(in.Kinds, gvk), Live: in.Live[e.object.ID],
		Shared: claim.DesiredPolicy(in.Application, e.object.Ownership).Claims, Written: e.written,
	}
}

// holdsByDefault returns the paths of hold that are equivalent to no hold list. On a default schema this is "*", and on
// a written schema an empty list, because the schema lists its fields.
func (e *fieldsEditor) holdsByDefault() []v1alpha1.HeldField {
	if e.written != nil {
		return []v1alpha1.HeldField{}
	}
	return []v1alpha1.HeldField{{Path: observer.AllFields}}
}

// compiled returns the schema that a spec.fields item compiles to. The error is the first validation error of the item,
// without its index: the item may be a new one. An item without hold and free would be invalid, so it is compiled as one
// that holds the default.
func (e *fieldsEditor) compiled(entry v1alpha1.ResourceFields) (*observer.Schema, error) {
	if entry.Hold == nil && !entry.Frees() {
		entry.Hold = e.holdsByDefault()
	}
	entry.Resource = v1alpha1.ResourceSelector{Kind: e.object.ID.Kind, Name: e.object.ID.Name}
	app := &v1alpha1.Application{}
	app.Spec.Fields = []v1alpha1.ResourceFields{entry}
	all, faults := fieldsOf(app)
	all[0].Profiles = e.profiles
	compiled := all[0].Compile(e.object, e.context())
	if faults = append(faults, compiled.Faults...); len(faults) > 0 {
		return nil, fmt.Errorf("%s: %s", e.object.ID, faults[0].Message)
	}
	return compiled.Entry, nil
}

// without returns the item without the parts that contradict the edit of a path. To hold a path, it removes it from all
// lists of free paths, and from Hold if its rule is another one. To free a path with a release policy, it removes the
// path from the lists of other policies. To release all fields, it removes all of Hold.
func (e *fieldsEditor) without(text string) v1alpha1.ResourceFields {
	less := *e.entry.DeepCopy()
	if e.releasesAll(text) {
		less.Hold = nil
	}
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

// releasesAll reports whether the edit releases all fields of a shared object, also those that its manifest lacks.
func (e *fieldsEditor) releasesAll(text string) bool {
	return e.edit.Free && e.edit.OnRelease != "" && text == observer.AllFields
}

// added returns the paths to add: one, and to release all fields, also the other paths of Hold.
func (e *fieldsEditor) added(text string) []string {
	paths := []string{text}
	for _, held := range e.entry.Hold {
		if e.releasesAll(text) && held.Path != text {
			paths = append(paths, held.Path)
		}
	}
	return paths
}

// sameRule reports whether two paths have the same rule. Nil and empty lists are equal.
func sameRule(a, b v1alpha1.HeldField) bool {
	a.Path, b.Path = "", ""
	return apiequality.Semantic.DeepEqual(a, b)
}

// matches reports whether a path of an item names the same field as a normalized path. For example, containers[0].image
// and containers[name=web].image, if web is the first container.
func (e *fieldsEditor) matches(written, text string) bool {
	return written == text || e.normalizePath(written) == text
}

// normalizePath returns the canonical form of a path that names one field, and any other path unchanged. A path that
// the resource does not have is unchanged, too.
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

// with returns the item with a path added. The item is not changed. An item without hold gets the paths that it holds
// by default first, because hold replaces them.
func (e *fieldsEditor) with(entry v1alpha1.ResourceFields, text string) v1alpha1.ResourceFields {
	more := *entry.DeepCopy()
	if e.edit.Free {
		list := e.listOf(&more)
		*list = append(*list, e.added(text)...)
		return more
	}
	if more.Hold == nil {
		more.Hold = e.holdsByDefault()
	}
	if slices.ContainsFunc(more.Hold, func(f v1alpha1.HeldField) bool { return e.matches(f.Path, text) && sameRule(f, e.edit.Rule) }) {
		return more // twice would be an error if it has a rule
	}
	held := *e.edit.Rule.DeepCopy()
	held.Path = text
	more.Hold = append(more.Hold, held)
	return more
}

// listOf returns the list of an item that the edit adds freed paths to. Free follows spec.onRelease, and the other two
// lists override it.
func (e *fieldsEditor) listOf(entry *v1alpha1.ResourceFields) *[]string {
	switch e.edit.OnRelease {
	case v1alpha1.ReleaseLeave:
		return &entry.Leave
	case v1alpha1.ReleaseRestore:
		return &entry.Restore
	}
	return &entry.Free
}

// store returns the spec.fields items with the edited item. It removes an item that has no effect. An item of the
// resource is kept, or added, if it only overrides an item with a wildcard.
//
//	the edited item            with a wildcard item     result
//	equals the default         no                       the item is removed
//	equals the default         yes                      the item stays, to override the wildcard
//	equals the wildcard item   yes                      the item is removed
//	any other                  any                      the item is stored, or appended
func (e *fieldsEditor) store(fields []v1alpha1.ResourceFields) []v1alpha1.ResourceFields {
	if e.entry.Hold != nil && slices.EqualFunc(e.entry.Hold, e.holdsByDefault(), func(a, b v1alpha1.HeldField) bool { return a.Path == b.Path }) {
		e.entry.Hold = nil
	}
	isDefault := e.entry.Hold == nil && !e.entry.Frees()
	isNeedless := isDefault && e.inherited == nil || e.inherited != nil && e.sameItems(e.entry, *e.inherited)
	if isDefault {
		e.entry.Hold = e.holdsByDefault() // overrides the wildcard
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

// sameItems reports whether two items have the same paths, in any order. The resource selectors are not compared.
func (e *fieldsEditor) sameItems(a, b v1alpha1.ResourceFields) bool {
	sorted := func(f v1alpha1.ResourceFields) (all []string) {
		for _, held := range f.Hold {
			held.Path = e.normalizePath(held.Path)
			raw, _ := json.Marshal(held) // a value that was decoded can be encoded
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

// selector returns a selector that matches the resource and no other resource of the Application, including those that
// may be selected later. The selector is as short as possible: kind and name, with apiVersion or namespace only where
// another resource needs it.
func (e *fieldsEditor) selector() v1alpha1.ResourceSelector {
	id := e.object.ID
	s := v1alpha1.ResourceSelector{Kind: id.Kind, Name: id.Name}
	for _, other := range e.others {
		switch {
		case other == id || other.Kind != id.Kind || other.Name != id.Name:
		case other.Group != id.Group:
			s.APIVersion = e.object.APIVersion
		default:
			s.Namespace = id.Namespace
		}
	}
	for _, entry := range e.in.Application.Spec.Select {
		if entry.Kind == id.Kind && len(entry.Namespaces) > 0 {
			s.Namespace = id.Namespace
		}
	}
	return s
}

// noChangeNote returns the note for a path that is already free or held.
func noChangeNote(path string, free bool) string {
	if free {
		return path + " is already free"
	}
	return path + " is already held"
}
