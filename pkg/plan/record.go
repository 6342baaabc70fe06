package plan

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// record is what the status remembers of one resource.
type record struct {
	id      manifest.ID
	desired map[string]any
	entry   *observer.Entry
	status  *v1alpha1.ResourceStatus // nil if it was never created
	// created tells that this is no record of the status, but what was written down
	// before the object was created.
	created bool
}

// recordsOf reads the memory that the status is. What cannot be read is
// forgotten: it costs learned values, never a wrong write.
func recordsOf(in Input) (records map[manifest.ID]*record, inventory []v1alpha1.ResourceStatus) {
	app := in.Application
	records = make(map[manifest.ID]*record, len(app.Status.LastAppliedManifest))
	for i, item := range app.Status.LastAppliedManifest {
		desired, err := decode(item)
		if err != nil {
			continue
		}
		id, ok := Identify(desired, app.Namespace, in.Kinds)
		if !ok {
			continue
		}
		r := &record{id: id, desired: desired}
		if i < len(app.Status.MangledObserverSchema) {
			r.entry = entryOf(app.Status.MangledObserverSchema[i], id)
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
		r.settleOrigin()
	}
	return records, app.Status.Resources
}

func entryOf(item runtime.RawExtension, id manifest.ID) *observer.Entry {
	raw, err := decode(item)
	if err != nil {
		return nil
	}
	entries, err := observer.ParseAll([]map[string]any{raw})
	if err != nil || entries[0].ID.GroupKind() != id.GroupKind() || entries[0].ID.Name != id.Name {
		return nil
	}
	return entries[0]
}

// settleOrigin finds out whether the entry is a default one: the inventory says
// so, or else it has exactly the leaves that its desired state has.
func (r *record) settleOrigin() {
	if r.entry == nil {
		return
	}
	if r.status != nil && r.status.Schema != "" {
		r.entry.Default = r.status.Schema == v1alpha1.SchemaDefault
		return
	}
	r.entry.Default = observer.DefaultEntry(manifest.Object{
		ID: r.id, APIVersion: r.entry.APIVersion, Content: r.desired,
	}).SameFields(r.entry)
}

// nulls are the leaves that the user's entry on record had as nulls. Earlier versions
// did not keep that, and wrote every leaf as null.
func (r *record) nulls() []string {
	if r.entry == nil || r.entry.Default {
		return nil
	}
	if r.status != nil && len(r.status.NullLeaves) > 0 {
		return r.status.NullLeaves
	}
	return r.entry.Nulls()
}

// Identify is the identity of an object that was normalized before.
func Identify(content map[string]any, namespace string, scopes manifest.Scopes) (manifest.ID, bool) {
	apiVersion, _ := content["apiVersion"].(string)
	kind, _ := content["kind"].(string)
	metadata, _ := content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || kind == "" || name == "" {
		return manifest.ID{}, false
	}
	id := manifest.ID{Group: gv.Group, Kind: kind, Name: name}
	if namespaced, known := scopes.Namespaced(id.GroupKind()); namespaced || !known {
		id.Namespace = namespace
		if own, ok := metadata["namespace"].(string); ok && own != "" {
			id.Namespace = own
		}
	}
	return id, true
}

// IDOf is the identity that a reference names.
func IDOf(ref v1alpha1.ResourceReference) manifest.ID {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return manifest.ID{}
	}
	return manifest.ID{Group: gv.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
}

// reference is the other way round.
func reference(id manifest.ID, apiVersion string) v1alpha1.ResourceReference {
	return v1alpha1.ResourceReference{APIVersion: apiVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// acceptedOf reads the accepted forms on record.
func acceptedOf(in Input) map[manifest.ID]delta.Accepted {
	accepted := map[manifest.ID]delta.Accepted{}
	for _, a := range in.Application.Status.Accepted {
		desired, ok := decodeValue(&a.Desired)
		if !ok {
			continue
		}
		form := delta.Form{Desired: delta.Some(desired)}
		if a.Accepted != nil {
			if value, ok := decodeValue(a.Accepted); ok {
				form.Accepted = delta.Some(value)
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
