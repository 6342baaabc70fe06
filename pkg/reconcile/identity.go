package reconcile

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// isHeld reports whether the status of an Application lists an object with this UID.
func isHeld(app *v1alpha1.Application, id manifest.ID, uid string) bool {
	return slices.ContainsFunc(app.Status.Resources, func(row v1alpha1.ResourceStatus) bool {
		return manifest.IDFromReference(row.ResourceReference) == id && string(row.UID) == uid
	})
}

// uidOf returns metadata.uid of an object; empty for a nil object or without one.
func uidOf(object map[string]any) string { return manifest.NestedString(object, "metadata", "uid") }

// versionOf returns metadata.resourceVersion of an object; empty for a nil object or without one.
func versionOf(object map[string]any) string {
	return manifest.NestedString(object, "metadata", "resourceVersion")
}
