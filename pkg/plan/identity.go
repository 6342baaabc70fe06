package plan

import (
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// reference returns the reference to an object. It is the inverse of manifest.IDFromReference.
func reference(id manifest.ID, apiVersion string) v1alpha1.ResourceReference {
	return v1alpha1.ResourceReference{APIVersion: apiVersion, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

// isJob reports whether an object is a Job, whose completion must survive the deletion of the object.
func isJob(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }
