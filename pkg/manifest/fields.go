package manifest

import (
	"fmt"
	"maps"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// serverFields are metadata fields that belong to the live object of one cluster. Users copy them into manifests from
// the output of kubectl get -o yaml. A manifest that sets uid or resourceVersion would also be a precondition of a
// write, which fails for another object.
var serverFields = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// dropServerFields removes the fields of a live object that a manifest cannot set, each with a warning.
// Source: docs/manifests.md, "In a manifest".
func (d *draft) dropServerFields() {
	metadata := d.metadata()
	for _, field := range serverFields {
		d.drop(metadata, field, "the API server sets it", "metadata")
	}
	d.drop(metadata, "ownerReferences",
		"they refer to owners by uid, and the garbage collector deletes an object whose owner does not exist", "metadata")
	d.drop(d.content, "status", "only controllers write it")
}

// WithoutServerFields returns a manifest without the fields and annotations that Normalize drops with a warning because
// they belong to a live object. The manifest is not modified. The command line uses it to make manifests of live
// objects. It shares all other values with content.
func WithoutServerFields(content map[string]any) map[string]any {
	kept := maps.Clone(content)
	delete(kept, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		own := maps.Clone(metadata)
		delete(own, "ownerReferences")
		for _, field := range serverFields {
			delete(own, field)
		}
		dropControllerAnnotations(own)
		kept["metadata"] = own
	}
	return kept
}

// drop removes a field from the map at the given path, with a warning. It modifies the map. from can be nil.
func (d *draft) drop(from map[string]any, field, why string, at ...any) {
	if _, there := from[field]; there {
		delete(from, field)
		d.warn(Path(at).with(field), "dropped: "+why)
	}
}

// checkTexts validates labels or annotations, and rejects Holdfast's own tracking metadata. marks lists its keys. The
// API server rejects labels that are not strings, with a message about Go types. Here, the user learns to add quotes.
func (d *draft) checkTexts(field string, marks ...string) {
	texts, isMap := d.metadata()[field].(map[string]any)
	if value := d.metadata()[field]; value != nil && !isMap {
		d.fault(Path{"metadata", field}, "must be a map, not "+Describe(value))
	}
	for key, value := range texts {
		if _, isText := value.(string); !isText {
			d.fault(Path{"metadata", field, key}, mustBeText(value))
		}
	}
	for _, mark := range marks {
		if _, there := texts[mark]; there {
			d.fault(Path{"metadata", field, mark}, "is tracking metadata that only Holdfast sets: remove it")
		}
	}
}

// checkDeletionPolicy validates the deletion policy of a manifest. The content keeps the annotation, because the
// controller reads it from the live object when the manifest is gone.
func (d *draft) checkDeletionPolicy() {
	switch annotationsOf(d.content)[v1alpha1.AnnotationDeletionPolicy] {
	case nil, string(v1alpha1.DeletionDelete), string(v1alpha1.DeletionOrphan):
	default:
		at := Path{"metadata", "annotations", v1alpha1.AnnotationDeletionPolicy}
		d.fault(at, fmt.Sprintf("must be %s or %s", v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan))
	}
}

// takeOwnership removes the ownership annotation from a manifest and validates it. The annotation is an
// instruction to Holdfast and must not be written to an object that another controller or user owns.
//
//	holdfast.dev/ownership: Share    Ownership is Share, and the annotation is removed
//	any other value                  an error
//	no annotation                    Ownership is "", and spec.ownership applies
func (d *draft) takeOwnership() {
	annotations := annotationsOf(d.content)
	if _, said := annotations[v1alpha1.AnnotationOwnership]; !said {
		return
	}
	if d.ownership = OwnershipIn(d.content); d.ownership == "" {
		at := Path{"metadata", "annotations", v1alpha1.AnnotationOwnership}
		d.fault(at, fmt.Sprintf("must be %s or %s", v1alpha1.OwnershipOwn, v1alpha1.OwnershipShare))
		return
	}
	delete(annotations, v1alpha1.AnnotationOwnership)
	if len(annotations) == 0 {
		delete(d.metadata(), "annotations")
	}
}

// OwnershipIn returns the ownership in a manifest, or "" if it is missing or invalid. It reads the annotation, which
// Object.Content no longer has. It is for manifests that are not normalized yet.
func OwnershipIn(content map[string]any) v1alpha1.Ownership {
	switch annotationsOf(content)[v1alpha1.AnnotationOwnership] {
	case string(v1alpha1.OwnershipOwn):
		return v1alpha1.OwnershipOwn
	case string(v1alpha1.OwnershipShare):
		return v1alpha1.OwnershipShare
	}
	return ""
}

// refuseOwn rejects objects that an Application must not delete together with itself. Shared objects are allowed,
// because they are never deleted. Deletion follows the inventory, so an Application that contains its own namespace
// would delete itself before it is done.
func (d *draft) refuseOwn() {
	switch {
	case d.id == d.applicationID():
		d.fault(nil, "is the Application itself: an Application cannot hold itself")
	case OwnershipIn(d.content) == v1alpha1.OwnershipShare:
	case d.id == ID{Kind: "Namespace", Name: d.Application.Namespace}:
		d.fault(nil, "is the namespace of the Application, and would be deleted with it: create the namespace first, outside the Application")
	case d.definesOwnKind():
		d.fault(nil, "defines a kind of Holdfast, and every object of that kind would be deleted with the Application: install it with Holdfast")
	}
}

// refuseLeaves rejects a nested Application whose observer schema contains nulls. There they are leaves, but nulls in a
// manifest mean absent, so fewer fields would be held than the user wrote. It reads the manifest as the user wrote it,
// because the copy has no nulls.
func (d *draft) refuseLeaves(manifest map[string]any) {
	if d.kind != d.applicationID().GroupKind() {
		return
	}
	spec, _ := manifest["spec"].(map[string]any)
	var refuse func(value any, at Path)
	refuse = func(value any, at Path) {
		switch value := value.(type) {
		case map[string]any:
			for key, child := range value {
				if child == nil {
					d.fault(at.with(key), "is null, which means absent in a manifest: write observed")
				}
				refuse(child, at.with(key))
			}
		case []any:
			for i, child := range value {
				refuse(child, at.with(i))
			}
		}
	}
	refuse(spec["observerSchema"], Path{"spec", "observerSchema"})
}

// applicationID returns the identity of the Application of the manifests.
func (o Options) applicationID() ID {
	return ID{
		Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.Kind,
		Namespace: o.Application.Namespace, Name: o.Application.Name,
	}
}

// definesOwnKind reports whether the manifest is a CustomResourceDefinition of Holdfast. The name also counts, because
// the group can be missing. The name of a CustomResourceDefinition is plural.group, such as applications.holdfast.dev.
func (d *draft) definesOwnKind() bool {
	own := v1alpha1.GroupVersion.Group
	return d.kind == definitionKind && (NestedString(d.content, "spec", "group") == own || strings.HasSuffix(d.id.Name, "."+own))
}
