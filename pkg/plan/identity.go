package plan

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// gvkOf returns the kind of an object in a version. If apiVersion is invalid, the version is empty.
func gvkOf(id manifest.ID, apiVersion string) schema.GroupVersionKind {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		gv = schema.GroupVersion{Group: id.Group}
	}
	return gv.WithKind(id.Kind)
}

// reference returns the reference to an object. It is the inverse of manifest.IDFromReference.
func reference(id manifest.ID, apiVersion string) v1alpha1.ResourceReference {
	return v1alpha1.ResourceReference{APIVersion: apiVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// isJob reports whether an object is a Job, whose completion must survive the deletion of the object.
func isJob(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }
