package intent

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// entries contains the schemas of all objects that result from spec.observerSchema and spec.fields. readEntries makes
// it, assign fills it, and validate judges it. assigned is parallel to the objects, and contains a schema for each of
// them after assign.
type entries struct {
	written []*observer.Schema // the schemas of spec.observerSchema
	// fields are the items of spec.fields, in order.
	fields   []*observer.Fields
	assigned []*observer.Schema // for each object
	// unread lists the validation errors that are found without the objects, unfit the others.
	unread, unfit []error
	// warnings are complete messages for the condition Rendered.
	warnings []string
	// unsupported is the Problem of a HoldProfile that this version does not understand.
	unsupported *Problem
}

// readEntries parses spec.observerSchema and spec.fields. The result contains only the valid parts, and the errors of
// the others in unread. It needs no objects, so it also works for an Application with invalid manifests.
func readEntries(in Input) entries {
	written, err := schemaOf(in.Application)
	fields, faults := fieldsOf(in.Application)
	e := entries{written: written, fields: fields, unread: manifest.Unjoin[error](err)}
	for _, fault := range faults {
		e.unread = append(e.unread, fault)
	}
	return e
}

// assign finds the schema of each object. It collects as many validation errors as possible. First the written schemas,
// then spec.fields and profiles on top of them.
func (e *entries) assign(in Input, objects []manifest.Object) {
	var err error
	e.assigned, err = observer.Assign(e.written, objects)
	e.unfit = manifest.Unjoin[error](err)
	if len(e.fields) > 0 || len(in.Profiles.All) > 0 {
		e.compile(in, objects)
	}
}

// fieldsOf reads spec.fields. The items are parallel to spec.fields, and an invalid path is nil in its list. So an item
// with errors can still be compiled, to find further errors. Lists that are nil and lists that are empty differ: hold:
// [] holds nothing, and no hold means all fields.
func fieldsOf(app *v1alpha1.Application) (entries []*observer.Fields, faults []*observer.FieldPathError) {
	for i, item := range app.Spec.Fields {
		f := &observer.Fields{
			Position: i, OnlyHold: item.Hold != nil,
			APIVersion: item.Resource.APIVersion, Kind: item.Resource.Kind, Namespace: item.Resource.Namespace, Name: item.Resource.Name,
		}
		read := func(list string, k int, text string) *observer.FieldPath {
			path, err := observer.ParseFieldPath(text)
			if err != nil {
				faults = append(faults, f.Fault(list, k, "%s", err))
				return nil
			}
			return path
		}
		for k, held := range item.Hold {
			// The API types record an item that cannot be decoded, instead of a failure of the whole Application.
			if held.Fault != "" {
				faults = append(faults, f.Fault("hold", k, "%s", held.Fault))
				f.Hold = append(f.Hold, nil)
				continue
			}
			f.Hold = append(f.Hold, read("hold", k, held.Path))
			faults = append(faults, ruleOf(f, k, held)...)
		}
		all := func(list observer.Released, texts []string) (paths []*observer.FieldPath) {
			for k, text := range texts {
				paths = append(paths, read(string(list), k, text))
			}
			return paths
		}
		f.Free, f.Leave, f.Restore = all(observer.ReleasedFree, item.Free), all(observer.ReleasedLeave, item.Leave), all(observer.ReleasedRestore, item.Restore)
		if item.Hold == nil && item.Free == nil && !item.Frees() {
			faults = append(faults, f.Fault("", 0, "needs hold or free"))
		}
		entries = append(entries, f)
	}
	return entries, faults
}

// ruleOf adds the rule of a path to the fields, if it has one. It returns the validation errors of the rule. The rule
// goes through JSON, because the parser of rules reads recorded schemas, too.
func ruleOf(f *observer.Fields, item int, held v1alpha1.HeldField) []*observer.FieldPathError {
	if !held.HasRule() {
		return nil
	}
	said, _ := manifest.DecodeRaw(manifest.EncodeRaw(held)) // a text that was just encoded can be decoded
	delete(said, "path")
	if keys, closes := said["keys"].(map[string]any); closes && held.FreeKeys != nil {
		free := make([]any, len(held.FreeKeys))
		for i, key := range held.FreeKeys {
			free[i] = key
		}
		keys["free"] = free
	}
	return f.AddRule(item, said)
}

// compile sets the schema of each object that a spec.fields item or a HoldProfile matches. A path of an item is a
// validation error if it names no field in any of the objects that the item matches. Work is shared by all objects, so
// that many resources with many wildcards end with an error instead of a long calculation. Profiles have their own, so
// a profile cannot make an Application invalid.
func (e *entries) compile(in Input, objects []manifest.Object) {
	// missing has, for each item, the paths that matched no field in any of its resources so far, by list and index.
	// used counts these resources.
	missing := make([]map[string]*observer.FieldPathError, len(e.fields))
	used, work, profiles := make([]int, len(e.fields)), observer.MostFieldWork, profilerOf(in, objects)
	for k, object := range objects {
		f, fault := fieldsFor(e.fields, object)
		if fault != nil {
			e.unfit = append(e.unfit, fault)
			used[fault.Entry]++
			continue
		}
		shared, written := claim.DesiredPolicy(in.Application, object.Ownership).Claims, e.assigned[k]
		if written.Default {
			written = nil
		}
		// Profiles apply only to default schemas, and never to shared objects.
		if written == nil && !shared {
			f = fieldsUnder(f, profiles.pathsFor(object))
		}
		if f == nil {
			continue
		}
		compiled := f.Compile(object, observer.Context{
			Type: in.Kinds.Type(object.GVK()), Published: Published(in.Kinds, object.GVK()), Live: in.Live[object.ID], Shared: shared, Written: written,
			Work: &work, ProfileWork: &profiles.work,
		})
		e.assigned[k], e.warnings = compiled.Entry, append(e.warnings, compiled.Warnings...)
		// Only profiles apply. Their unknown paths are no errors.
		if f.Position == observer.NoEntry {
			continue
		}
		for _, fault := range compiled.Faults {
			e.unfit = append(e.unfit, fault)
		}
		missing[f.Position] = inAll(missing[f.Position], compiled.Missing, used[f.Position] == 0)
		used[f.Position]++
	}
	e.unsupported = profiles.unsupported
	e.judgeUse(in.Application, objects, used, missing)
}

// judgeUse reports items that match no resource, and paths that name no field in any matched resource. An item for a
// resource that may be selected later is valid now, although it matches nothing.
func (e *entries) judgeUse(app *v1alpha1.Application, objects []manifest.Object, used []int, missing []map[string]*observer.FieldPathError) {
	for i, f := range e.fields {
		matches := func(object manifest.Object) bool { return matchesObject(f, object) }
		// If an unused item matches resources, a more specific item applies to each of them.
		if used[i] == 0 && !slices.ContainsFunc(objects, matches) && !mayBeSelected(f, app) {
			e.unfit = append(e.unfit, f.Fault("", 0, "matches no resource of the Application by kind and name%s", nearestName(f, objects)))
		}
		for _, list := range [...]string{"hold", "free", "leave", "restore"} {
			for item := range max(len(f.Hold), len(f.Free), len(f.Leave), len(f.Restore)) {
				if fault := missing[i][fmt.Sprint(list, item)]; fault != nil {
					e.unfit = append(e.unfit, fault)
				}
			}
		}
	}
}

// fieldsUnder returns an item, which may be nil, with the paths of profiles that apply before it. The item is not
// changed, because it is shared by all resources that it matches. The result is nil if there is neither. Without an
// item, the Position of the result is NoEntry.
func fieldsUnder(f *observer.Fields, paths []observer.ProfilePath) *observer.Fields {
	switch {
	case len(paths) == 0:
		return f
	case f == nil:
		return &observer.Fields{Position: observer.NoEntry, Profiles: paths}
	}
	changed := *f
	changed.Profiles = paths
	return &changed
}

// inAll returns the paths that name no field in any of the resources so far. before has them for the previous
// resources; first is true for the first resource, which has no previous ones. A key is the list and the index, such as
// hold0.
func inAll(before map[string]*observer.FieldPathError, now []*observer.FieldPathError, first bool) map[string]*observer.FieldPathError {
	both := map[string]*observer.FieldPathError{}
	for _, fault := range now {
		key := fmt.Sprint(fault.List, fault.Item)
		if _, had := before[key]; had || first {
			both[key] = fault
		}
	}
	return both
}

// fieldsFor returns the spec.fields item that matches an object: a name without wildcards has precedence. It is a
// validation error if two items of equal precedence match. best is nil if no item matches.
//
//	full names    wildcards    result
//	0             0            nil
//	0             1            the item with the wildcard
//	0             2 or more    an error
//	1             any          the item with the full name
//	2 or more     any          an error
func fieldsFor(fields []*observer.Fields, object manifest.Object) (best *observer.Fields, fault *observer.FieldPathError) {
	for _, f := range fields {
		switch {
		case !matchesObject(f, object):
		case best == nil, hasWildcard(best) && !hasWildcard(f):
			best = f
		case hasWildcard(best) == hasWildcard(f):
			fault = f.Fault("", 0, "%s already has an item: fields[%d]. Remove one of them, or add an item with the full name of the resource", object.ID, best.Position)
		}
	}
	if best != nil && fault != nil && hasWildcard(best) != strings.Contains(fault.Name, "*") {
		fault = nil // two names with wildcards, and one without, which has precedence
	}
	return best, fault
}

// hasWildcard reports whether an item selects resources by a pattern of names. Only names can have wildcards: a kind is
// always written in full.
func hasWildcard(f *observer.Fields) bool { return strings.Contains(f.Name, "*") }

// matchesObject reports whether an item matches an object. The version in apiVersion has no effect, only the group. A
// namespace in the item has no effect on a cluster-scoped object.
func matchesObject(f *observer.Fields, object manifest.Object) bool {
	if f.Kind != object.ID.Kind || !observer.MatchesPattern(f.Name, object.ID.Name) || f.Namespace != "" && object.ID.Namespace != "" && f.Namespace != object.ID.Namespace {
		return false
	}
	gv, err := schema.ParseGroupVersion(f.APIVersion)
	return f.APIVersion == "" || err == nil && gv.Group == object.ID.Group
}

// mayBeSelected reports whether an item matches objects of a kind that spec.select may select later. Names and
// namespaces are not compared, because both sides can be patterns.
func mayBeSelected(f *observer.Fields, app *v1alpha1.Application) bool {
	for _, item := range app.Spec.Select {
		gv, err := schema.ParseGroupVersion(f.APIVersion)
		of, _ := schema.ParseGroupVersion(item.APIVersion)
		if item.Kind == f.Kind && (f.APIVersion == "" || err == nil && gv.Group == of.Group) {
			return true
		}
	}
	return false
}

// nearestName suggests the resource that the user may have meant.
func nearestName(f *observer.Fields, objects []manifest.Object) string {
	names := make([]string, len(objects))
	for i, object := range objects {
		names[i] = object.ID.Kind + " " + object.ID.Name
	}
	return suggest.DidYouMean(f.Kind+" "+f.Name, names)
}

// FieldsItem returns "fields[0]" for a schema to which an item of spec.fields applies, and "" for any other. Messages
// about a conflict name it.
func FieldsItem(entry *observer.Schema) string {
	if at := entry.FieldsPosition(); at != observer.NoEntry {
		return fmt.Sprintf("fields[%d]", at)
	}
	return ""
}

// schemaOf parses spec.observerSchema. If an item is not a JSON object, it returns only an error, and no schemas.
// Otherwise it returns all schemas, with their valid parts.
func schemaOf(app *v1alpha1.Application) ([]*observer.Schema, error) {
	raw, err := decodeAll("observerSchema", app.Spec.ObserverSchema)
	if err != nil {
		return nil, err
	}
	return observer.ParseAll(raw)
}
