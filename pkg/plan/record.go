package plan

import (
	"cmp"
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// readRecords returns the records in a status. It skips records that cannot be decoded: learned values are lost,
// but no write is wrong. known returns the manifest and the schema of the resource at a position, which its record
// usually repeats and then need not be decoded. It may be nil.
func readRecords(app *v1alpha1.Application, types intent.Kinds, known func(i int) (map[string]any, *observer.Schema)) map[manifest.ID]*record {
	records := make(map[manifest.ID]*record, len(app.Status.LastAppliedManifest))
	for i, item := range app.Status.LastAppliedManifest {
		var content map[string]any
		var rendered *observer.Schema
		if known != nil {
			content, rendered = known(i)
		}
		desired, err := decodeState(item, content)
		if err != nil {
			continue
		}
		id, ok := manifest.Identify(desired, app.Namespace, types)
		if !ok {
			continue
		}
		r := &record{id: id, desired: desired}
		if i < len(app.Status.MangledObserverSchema) {
			r.entry = decodeEntry(app.Status.MangledObserverSchema[i], id, rendered)
		}
		records[id] = r
	}
	for i := range app.Status.Resources {
		status := &app.Status.Resources[i]
		if r := records[manifest.IDFromReference(status.ResourceReference)]; r != nil {
			r.status = status
		}
	}
	for _, r := range records {
		r.settleOrigin(types)
	}
	return records
}

// appendRecord adds the schema and the last-applied state of a resource to a status.
func appendRecord(status *v1alpha1.ApplicationStatus, entry *observer.Schema, desired map[string]any) {
	status.MangledObserverSchema = append(status.MangledObserverSchema, manifest.EncodeRaw(entry.Raw()))
	status.LastAppliedManifest = append(status.LastAppliedManifest, manifest.EncodeRaw(desired))
}

// decodeState returns a last-applied state. It does not decode the state if it is the text of known, which may
// be nil.
func decodeState(item runtime.RawExtension, known map[string]any) (map[string]any, error) {
	if known != nil && manifest.IsTextOf(item.Raw, known) {
		return known, nil
	}
	return manifest.DecodeRaw(item)
}

// decodeEntry returns a schema in the status, or nil if it is not a valid schema of the object. It does not parse
// the schema if it is the text of known, which may be nil.
func decodeEntry(item runtime.RawExtension, id manifest.ID, known *observer.Schema) (entry *observer.Schema) {
	if known != nil {
		entry = known.ReadBack(item.Raw)
	}
	if entry == nil {
		raw, err := manifest.DecodeRaw(item)
		if err != nil {
			return nil
		}
		entries, err := observer.ParseAll([]map[string]any{observer.ReplaceNulls(raw)}) // earlier versions wrote leaves as null
		if err != nil {
			return nil
		}
		entry = entries[0]
	}
	if entry.ID.GroupKind() != id.GroupKind() || entry.ID.Name != id.Name {
		return nil
	}
	return entry
}

// settleOrigin sets whether the schema is a default one: the inventory reports it, or, if it does not, the
// schema has exactly the fields of the desired state.
func (r *record) settleOrigin(types intent.Kinds) {
	if r.entry == nil {
		return
	}
	if r.status != nil && r.status.Schema != "" {
		r.entry.Default = r.status.Schema == v1alpha1.SchemaDefault
		r.entry.Follows = r.status.Schema == v1alpha1.SchemaFields
		return
	}
	object := manifest.Object{ID: r.id, APIVersion: r.entry.APIVersion, Content: r.desired}
	plain := observer.DefaultEntry(object)
	r.entry.Default = plain.SameFields(r.entry) || plain.Typed(types.Type(object.GVK())).SameFields(r.entry)
}

// acceptedForms returns the accepted forms in a status.
func acceptedForms(status *v1alpha1.ApplicationStatus) map[manifest.ID]delta.Accepted {
	accepted := map[manifest.ID]delta.Accepted{}
	for _, a := range status.Accepted {
		desired, ok := manifest.DecodeRawValue(&a.Desired)
		if !ok || a.Kept {
			continue
		}
		form := delta.Form{Desired: delta.NewValue(desired)}
		if a.Accepted != nil {
			if value, ok := manifest.DecodeRawValue(a.Accepted); ok {
				form.Accepted = delta.NewValue(value)
			}
		}
		id := manifest.IDFromReference(a.Resource)
		if accepted[id] == nil {
			accepted[id] = delta.Accepted{}
		}
		accepted[id][a.Path] = form
	}
	return accepted
}

// acceptedField returns an accepted form as the status has it.
func acceptedField(of v1alpha1.ResourceReference, path string, form delta.Form) v1alpha1.AcceptedField {
	a := v1alpha1.AcceptedField{Resource: of, Path: path, Desired: manifest.EncodeRaw(form.Desired.Any), Dropped: form.Dropped()}
	if form.Accepted.Set {
		value := manifest.EncodeRaw(form.Accepted.Any)
		a.Accepted = &value
	}
	return a
}

// addCreated adds the states in the annotation holdfast.dev/creating to the records. It adds only those of
// resources that the status does not have, or that could not be created.
func addCreated(records map[manifest.ID]*record, app *v1alpha1.Application, types intent.Kinds) {
	for _, state := range unpack(app.Annotations[v1alpha1.AnnotationCreating]).States {
		desired, _ := state.(map[string]any)
		id, ok := manifest.Identify(desired, app.Namespace, types)
		if !ok {
			continue
		}
		r := records[id]
		if r != nil && (r.status != nil && r.status.UID != "" || r.entry != nil && !r.entry.Default) {
			continue
		}
		created := &record{id: id, desired: desired, created: true}
		object := manifest.Object{ID: id, APIVersion: manifest.NestedString(desired, "apiVersion"), Content: desired}
		created.entry = observer.DefaultEntry(object).Typed(types.Type(object.GVK()))
		if r != nil {
			created.status = r.status
		}
		records[id] = created
	}
}

// pendingCreates is the decoded value of the annotation holdfast.dev/creating.
type pendingCreates struct {
	// Objects are the identities of objects: group/kind/namespace/name.
	Objects []string `json:"objects"`
	// States are the desired states of some of these objects.
	States []any `json:"states"`
}

// has reports whether the annotation names an object. Earlier versions wrote only the states, without the names.
func (a pendingCreates) has(id manifest.ID, namespace string, types intent.Kinds) bool {
	return slices.Contains(a.Objects, nameOf(id)) || slices.ContainsFunc(a.States, func(state any) bool {
		desired, _ := state.(map[string]any)
		of, ok := manifest.Identify(desired, namespace, types)
		return ok && of == id
	})
}

// unpack decodes the value of the annotation holdfast.dev/creating. It returns an empty value if it cannot be
// decoded.
func unpack(text string) (says pendingCreates) {
	compressed, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(compressed) == 0 {
		return pendingCreates{}
	}
	raw, err := compress.Decode(compressed, 2*v1alpha1.MaxApplicationBytes)
	if err != nil {
		return pendingCreates{}
	}
	if utiljson.Unmarshal(raw, &says.States) == nil {
		return says // an earlier version wrote it, without names
	}
	var tree map[string]any // integers are int64 in it
	if utiljson.Unmarshal(raw, &tree) != nil {
		return pendingCreates{}
	}
	says = pendingCreates{}
	says.States, _ = tree["states"].([]any)
	objects, _ := tree["objects"].([]any)
	for _, name := range objects {
		if text, ok := name.(string); ok {
			says.Objects = append(says.Objects, text)
		}
	}
	return says
}

func statusByID(inventory []v1alpha1.ResourceStatus) map[manifest.ID]*v1alpha1.ResourceStatus {
	byID := make(map[manifest.ID]*v1alpha1.ResourceStatus, len(inventory))
	for i := range inventory {
		byID[manifest.IDFromReference(inventory[i].ResourceReference)] = &inventory[i]
	}
	return byID
}

// recordedBaseline returns the valid baselines in the status, if they belong to this live object.
func recordedBaseline(status *v1alpha1.ResourceStatus, live map[string]any) []v1alpha1.BaselineField {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Baseline), func(b v1alpha1.BaselineField) bool {
		return !claim.IsLeaf(b.Path) || b.From != "" && (!claim.IsLeaf(b.From) || !observer.IsUnder(b.Path, b.From))
	})
}

// unrecordedPaths returns the fields of a live object whose baseline exceeded the size limit when they were
// first written.
func unrecordedPaths(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	if !isBaselineOf(status, live) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(status.Unrecorded), func(path string) bool { return !claim.IsLeaf(path) })
}

// baselinePaths returns the fields of a live object that were held, or are about to be: those with a
// baseline, and those whose baseline exceeded the size limit.
func baselinePaths(status *v1alpha1.ResourceStatus, live map[string]any) []string {
	paths := slices.Clone(unrecordedPaths(status, live))
	for _, b := range recordedBaseline(status, live) {
		if b.Holder == "" {
			paths = append(paths, b.Path)
		}
	}
	return paths
}

// isBaselineOf reports whether the baselines in the status belong to this object, and not to another one of
// the same name.
func isBaselineOf(status *v1alpha1.ResourceStatus, live map[string]any) bool {
	return status != nil && string(cmp.Or(status.BaselineUID, status.UID)) == manifest.NestedString(live, "metadata", "uid")
}

// baselineValue returns the original value of a field. It is not set if the field did not exist.
func baselineValue(b v1alpha1.BaselineField) delta.Value {
	if b.Value == nil {
		return delta.Value{}
	}
	value, ok := manifest.DecodeRawValue(b.Value)
	return delta.Value{Set: ok, Any: value}
}

// isAsHeld reports whether the live value of a field is one that its holder wrote, or the original value.
func isAsHeld(kind *kinds.Node, live map[string]any, b v1alpha1.BaselineField) bool {
	at, _ := delta.Locate(kind, live, b.Path)
	if !at.Value.Set {
		return b.Value == nil || holdsAbsent(b)
	}
	return slices.Contains(b.Held, digest(at.Value.Any)) || at.Value.Equal(baselineValue(b))
}
