package plan

import (
	"encoding/base64"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// recordsOf returns the records in the status, and the inventory. It skips records that cannot be decoded:
// learned values are lost, but no write is wrong. known has the desired resources, which usually have the same
// state and need no decoding.
func recordsOf(in Input, known []*resource) (records map[manifest.ID]*record, inventory []v1alpha1.ResourceStatus) {
	app := in.Application
	records = make(map[manifest.ID]*record, len(app.Status.LastAppliedManifest))
	for i, item := range app.Status.LastAppliedManifest {
		var res *resource
		if i < len(known) {
			res = known[i]
		}
		desired, err := res.stateIn(item)
		if err != nil {
			continue
		}
		id, ok := Identify(desired, app.Namespace, in.Kinds)
		if !ok {
			continue
		}
		r := &record{id: id, desired: desired}
		if i < len(app.Status.MangledObserverSchema) {
			r.entry = res.entryIn(app.Status.MangledObserverSchema[i], id)
		}
		records[id] = r
	}
	for i := range app.Status.Resources {
		status := &app.Status.Resources[i]
		if r := records[IDOf(status.ResourceReference)]; r != nil {
			r.status = status
		}
	}
	for _, r := range records {
		r.settleOrigin(in.Kinds)
	}
	return records, app.Status.Resources
}

// stateIn returns a last-applied state. It does not decode the state if it is the same as the manifest of the
// resource. res may be nil.
func (res *resource) stateIn(item runtime.RawExtension) (map[string]any, error) {
	if res != nil && manifest.IsTextOf(item.Raw, res.object.Content) {
		return res.object.Content, nil
	}
	return decode(item)
}

// entryIn returns a schema in the status, or nil if it is not a valid schema of the object. It does not parse
// the schema if it is the same as the schema of the resource. res may be nil.
func (res *resource) entryIn(item runtime.RawExtension, id manifest.ID) (entry *observer.Schema) {
	if res != nil {
		entry = res.rendered.ReadBack(item.Raw)
	}
	if entry == nil {
		raw, err := decode(item)
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
func (r *record) settleOrigin(types Kinds) {
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

// acceptedOf returns the accepted forms in the status, and those of Secrets in the memory.
func acceptedOf(in Input) map[manifest.ID]delta.Accepted {
	accepted := map[manifest.ID]delta.Accepted{}
	for _, a := range in.Application.Status.Accepted {
		desired, ok := decodeValue(&a.Desired)
		if !ok || a.Kept {
			continue
		}
		form := delta.Form{Desired: delta.NewValue(desired)}
		if a.Accepted != nil {
			if value, ok := decodeValue(a.Accepted); ok {
				form.Accepted = delta.NewValue(value)
			}
		}
		id := IDOf(a.Resource)
		if accepted[id] == nil {
			accepted[id] = delta.Accepted{}
		}
		accepted[id][a.Path] = form
	}
	if in.Memory != nil {
		for id, forms := range in.Memory.Secrets {
			if accepted[id] == nil {
				accepted[id] = delta.Accepted{}
			}
			for path, form := range forms {
				accepted[id][path] = form
			}
		}
	}
	return accepted
}

// addCreated adds the states in the annotation holdfast.dev/creating to the records. It adds only those of
// resources that the status does not have, or that could not be created.
func addCreated(records map[manifest.ID]*record, in Input) {
	for _, state := range unpack(in.Application.Annotations[v1alpha1.AnnotationCreating]).States {
		desired, _ := state.(map[string]any)
		id, ok := Identify(desired, in.Application.Namespace, in.Kinds)
		if !ok {
			continue
		}
		r := records[id]
		if r != nil && (r.status != nil && r.status.UID != "" || r.entry != nil && !r.entry.Default) {
			continue
		}
		created := &record{id: id, desired: desired, created: true}
		object := manifest.Object{ID: id, APIVersion: manifest.NestedString(desired, "apiVersion"), Content: desired}
		created.entry = observer.DefaultEntry(object).Typed(in.Kinds.Type(object.GVK()))
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

// isNamed reports whether the annotation holdfast.dev/creating names an object that is not in the inventory.
// Earlier versions wrote only the states, without the names.
func (p *Plan) isNamed(id manifest.ID) bool {
	says := unpack(p.in.Application.Annotations[v1alpha1.AnnotationCreating])
	return slices.Contains(says.Objects, nameOf(id)) || slices.ContainsFunc(says.States, func(state any) bool {
		desired, _ := state.(map[string]any)
		of, ok := Identify(desired, p.in.Application.Namespace, p.in.Kinds)
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
	raw, err := compress.Decode(compressed, 2*maxApplicationBytes)
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
		byID[IDOf(inventory[i].ResourceReference)] = &inventory[i]
	}
	return byID
}

// unrecorded reports whether the inventory does not have the UID of an object. If the object has the tracking
// metadata, the controller stopped, or did not receive the response, between the create and the status update.
// Then the controller uses the live object as the response to the create, to find server-added elements.
func (p *Plan) unrecorded(status *v1alpha1.ResourceStatus) bool {
	return p.in.Application.UID != "" && (status == nil || status.UID == "")
}
