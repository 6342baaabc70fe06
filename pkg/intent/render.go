package intent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Rendering is the result of Render: the objects after and before hooks, and the schema of each. Objects, Entries and
// Written are parallel. An object that a hook added has a nil map in Written. With shared objects, the order of Objects
// can differ from that of the manifests: see mangle.
type Rendering struct {
	Objects  []manifest.Object
	Entries  []*observer.Schema
	Written  []map[string]any // the manifests before hooks
	Warnings []string
}

// Render converts the source and the observer schema of an Application into objects and their schemas. One validation
// error makes the whole input invalid, so that the controller applies no partial input and deletes nothing by mistake.
// The Rendering is empty if there is a Problem. The Application is not changed. The checks, in order, each with its
// reason:
//
//	nullsDropped                 ObserverSchemaNullsDropped
//	healthCheckProblem           HealthCheckInvalid
//	the source, or too many      that of the source, or TooManyObjects
//	the manifests                ManifestInvalid, with the errors of the schemas
//	unsupported profiles         SpecNotSupported
//	the schemas                  ObserverSchemaInvalid
//	the hooks                    HookFailed
func Render(in Input) (Rendering, *Problem) {
	app := in.Application
	if problem := cmp.Or(nullsDropped(app), healthCheckProblem(app)); problem != nil {
		return Rendering{}, problem
	}
	objects, warnings, err := objectsOf(in)
	if problem, ok := errors.AsType[*Problem](err); ok {
		return Rendering{}, problem
	}
	// Errors of manifests and schemas are reported together, so the schemas are read even if a manifest is invalid.
	e := readEntries(in)
	if err != nil {
		return Rendering{}, Problemf(v1alpha1.ReasonManifestInvalid, "%s", Summary(errors.Join(manifest.First(append(manifest.Unjoin[error](err), e.unread...))...)))
	}
	e.assign(in, objects)
	if e.unsupported != nil {
		return Rendering{}, e.unsupported
	}
	faults, late := e.validate(app)
	if len(faults) > 0 {
		return Rendering{}, Problemf(v1alpha1.ReasonObserverSchemaInvalid, "%s", Summary(errors.Join(manifest.First(faults)...)))
	}
	r := Rendering{Objects: objects, Entries: e.assigned, Warnings: slices.Concat(warnings, late, e.warnings)}
	if faults := shareEntries(in, &r); len(faults) > 0 {
		return Rendering{}, Problemf(v1alpha1.ReasonObserverSchemaInvalid, "%s", Summary(errors.Join(manifest.First(faults)...)))
	}
	for _, fault := range manifest.First(UnknownFields(objects, e.assigned, in.Kinds, in.Live)) {
		r.Warnings = append(r.Warnings, fault.Error())
	}
	if err := mangle(in, &r); err != nil {
		problem := Problemf(v1alpha1.ReasonHookFailed, "%s", Summary(err))
		// The same input fails again, so a retry makes no sense until the spec changes.
		problem.As = v1alpha1.DispositionStall
		return Rendering{}, problem
	}
	r.Warnings = append(r.Warnings, shutdownWarnings(app, r.Objects)...)
	return r, nil
}

// shutdownWarnings returns a warning if the Service to call at the shutdown is not among the objects. Otherwise, a
// typing error would show only when the deletion of the Application ends in ShutdownFailed.
func shutdownWarnings(app *v1alpha1.Application, objects []manifest.Object) []string {
	if app.Spec.Hooks == nil || app.Spec.Hooks.Shutdown == nil {
		return nil
	}
	wanted := manifest.ID{Kind: "Service", Namespace: app.Namespace, Name: app.Spec.Hooks.Shutdown.Service}
	var names []string
	for _, o := range objects {
		switch {
		case o.ID == wanted:
			return nil
		case o.ID.GroupKind() == wanted.GroupKind() && o.ID.Namespace == wanted.Namespace:
			names = append(names, o.ID.Name)
		}
	}
	return []string{fmt.Sprintf("spec.hooks.shutdown.service: %s is not among the manifests, so the shutdown will fail%s", wanted, suggest.DidYouMean(wanted.Name, names))}
}

// shareEntries sets the schemas of shared objects. Without a user's schema, the fields that the manifest sets are held.
// It returns the validation errors of the user's schemas and of the manifests. A schema that removes elements from a
// list would remove those of the owner of the object.
func shareEntries(in Input, r *Rendering) (faults []error) {
	for i, o := range r.Objects {
		if !claim.DesiredPolicy(in.Application, o.Ownership).Claims {
			continue
		}
		kind := in.Kinds.Type(o.GVK())
		if r.Entries[i].Default && !r.Entries[i].FromFields() {
			r.Entries[i] = observer.PartialEntry(o, kind)
		}
		r.Entries[i].FindByAllKeys()
		if cuts := r.Entries[i].TruncatedLists(); len(cuts) > 0 {
			faults = append(faults, fmt.Errorf("%s is shared, and the observer schema would remove elements of other clients from %s: "+
				"set the minimum and the maximum of lists to 0, close no list, and list single labels and annotations", o.ID, FirstNames(cuts)))
		}
		faults = append(faults, namelessFaults(o.ID, r.Entries[i].UnkeyedLists(kind, o.Content))...)
	}
	return faults
}

// namelessFaults returns a validation error, with its remedy, for list elements of a shared object that only their
// position identifies. Holdfast could not tell which elements belong to the owner of the object.
func namelessFaults(id manifest.ID, nameless []observer.Nameless) (faults []error) {
	var lists []string
	for _, of := range nameless {
		if len(of.Keys) == 0 {
			lists = append(lists, of.Path.String())
			continue
		}
		faults = append(faults, fmt.Errorf("%s is shared, and %s does not identify an element: give it %s", id, of.Path, strings.Join(of.Keys, ", ")))
	}
	if len(lists) > 0 {
		faults = append(faults, fmt.Errorf("%s is shared, and the elements of %s have no keys that identify them: "+
			"hold each element by its value, with {path: %s, type: set} in hold of spec.fields", id, FirstNames(lists), lists[0]))
	}
	return faults
}

// mangle runs the hooks. Fields that hooks add or change are observed, too. Objects that hooks add get a default
// schema. Hooks cannot change shared objects, which are last in the result. A hook replaces the content of an object
// that it changes, so IsSameContent finds the unchanged ones without a comparison.
func mangle(in Input, r *Rendering) error {
	m := &hooks.Mangling{
		Application: in.Application, Live: in.Live,
		Objects: make([]manifest.Object, 0, len(r.Objects)), Entries: make(map[manifest.ID]*observer.Schema, len(r.Objects)),
	}
	var shared []manifest.Object
	before := make(map[manifest.ID]int, len(r.Objects)) // the positions in r.Objects
	for i, o := range r.Objects {
		before[o.ID] = i
		if claim.DesiredPolicy(in.Application, o.Ownership).Claims {
			shared = append(shared, o)
			continue
		}
		m.Objects = append(m.Objects, o)
		m.Entries[o.ID] = r.Entries[i]
	}
	if err := in.Hooks.ApplicationMangling.Run(m); err != nil {
		return err
	}
	// Clip makes append copy the list, which a listener may have kept.
	m.Objects = append(slices.Clip(m.Objects), shared...)
	entries, written := make([]*observer.Schema, len(m.Objects)), make([]map[string]any, len(m.Objects))
	for i, o := range m.Objects {
		k, had := before[o.ID]
		if had {
			written[i] = r.Objects[k].Content
		}
		switch {
		case !had:
			m.Objects[i].Ownership = v1alpha1.OwnershipOwn // the controller creates it, even if the manifests are shared
			entries[i] = observer.DefaultEntry(o)
		case IsSameContent(r.Objects[k].Content, o.Content):
			entries[i] = r.Entries[k]
		default:
			entries[i] = r.Entries[k].WithHookChanges(r.Objects[k], o)
		}
	}
	r.Objects, r.Entries, r.Written, r.Warnings = m.Objects, entries, written, append(r.Warnings, m.Warnings...)
	return nil
}

// IsSameContent reports whether two contents are the same map, that is, whether no hook replaced it. It does not
// compare the fields.
func IsSameContent(a, b map[string]any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// nullsDropped returns a Problem if a schema was stored with fewer leaves than the user wrote. Otherwise, part of the
// fields would silently not be held. Server-side apply and Holdfast's own commands do not write the annotation, so it
// is absent for most Applications.
func nullsDropped(app *v1alpha1.Application) *Problem {
	text, ok := app.Annotations[manifest.LastApplied]
	if !ok {
		return nil
	}
	lost := lostLeaves(text, app)
	if len(lost) == 0 {
		return nil
	}
	return Problemf(v1alpha1.ReasonObserverSchemaNullsDropped,
		"kubectl apply dropped nulls (%s), so these fields would not be held: "+
			"write %q instead of null, or run `holdfast submit -f FILE --force-conflicts`",
		FirstNames(lost), observer.LeafText)
}

// lostLeaves returns the leaves that kubectl apply dropped from the schema of an Application, and from the schemas of
// Applications among its manifests. It compares them with text, the last-applied annotation. It returns nil if the
// annotation cannot be parsed. For example, spec.observerSchema[0].spec.replicas. Applications deeper than in the
// manifests are not compared.
func lostLeaves(text string, app *v1alpha1.Application) []string {
	var sent struct {
		Spec struct {
			ObserverSchema []any            `json:"observerSchema"`
			Manifest       []map[string]any `json:"manifest"`
		} `json:"spec"`
	}
	if json.Unmarshal([]byte(text), &sent) != nil {
		return nil
	}
	lost := prefixed("spec.observerSchema", observer.DroppedNulls(sent.Spec.ObserverSchema, manifest.DecodeRawList(app.Spec.ObserverSchema)))
	for i, inner := range sent.Spec.Manifest {
		if inner["kind"] != v1alpha1.Kind || len(sent.Spec.Manifest) != len(app.Spec.Manifest) { // or the positions may have changed
			continue
		}
		stored, err := manifest.DecodeRaw(app.Spec.Manifest[i])
		if err != nil {
			continue
		}
		was, _, _ := unstructured.NestedSlice(inner, "spec", "observerSchema")
		is, _, _ := unstructured.NestedSlice(stored, "spec", "observerSchema")
		lost = append(lost, prefixed(fmt.Sprintf("spec.manifest[%d].spec.observerSchema", i), observer.DroppedNulls(was, is))...)
	}
	return lost
}

// prefixed adds the path of a field before each path, in place.
func prefixed(field string, paths []string) []string {
	for i := range paths {
		paths[i] = field + paths[i]
	}
	return paths
}

// Summary returns the text of an error, truncated to the length of a condition message. It truncates at the end of a
// line, if there is one. The API server limits a message to 32,768 characters, and a status has many of them.
func Summary(err error) string {
	const limit = 4096
	text := err.Error()
	if len(text) <= limit {
		return text
	}
	cut := strings.LastIndexByte(text[:limit], '\n')
	if cut <= 0 {
		cut = limit
	}
	start, more := strings.ToValidUTF8(text[:cut], ""), strings.Count(text[cut:], "\n")
	if more == 0 {
		return start + "…"
	}
	return fmt.Sprintf("%s\n… and %d more lines", start, more)
}
