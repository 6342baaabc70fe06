package claim

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// IsCascadeOrphan reports whether the client that deleted an Application requested to orphan its objects. The
// finalizer shows that, and the annotation after the garbage collector has removed the finalizer.
func IsCascadeOrphan(app *v1alpha1.Application) bool {
	_, was := app.Annotations[v1alpha1.AnnotationOrphan]
	return was || slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents)
}

// ThisApplication is the prefix of the owner that Owner returns for a copy of an object of the Application.
const ThisApplication = "this Application"

// Controller returns the kind and name of the controller in the owner references of a live object, or "" if
// there is none. This controller would create the object again.
func Controller(live map[string]any) string {
	owner := metav1.GetControllerOfNoCopy(&unstructured.Unstructured{Object: live})
	if owner == nil {
		return ""
	}
	return owner.Kind + " " + owner.Name
}

// Owner returns the owner that the metadata of a live object names, or "" if there is none. The result is text for
// users. Decisions only depend on whether it is empty: see spec.adoption IfUnowned.
func Owner(app *v1alpha1.Application, live map[string]any) string {
	uid := manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID)
	name, _, _ := strings.Cut(manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID), ":")
	switch {
	// Both agree, so only the identity in the tracking-id can differ: see IsTrackedBy.
	case name == app.Namespace+"/"+app.Name && uid == string(app.UID):
		return ThisApplication + ", as a copy of another of its objects"
	case name == app.Namespace+"/"+app.Name:
		return "an earlier Application " + name
	case name != "":
		return "Application " + name
	case uid != "":
		return "the Application with UID " + uid
	}
	// A controller owner would create the object again or change it back.
	if owner := Controller(live); owner != "" {
		return owner
	}
	// Other tools record their objects in annotations and labels.
	for _, tool := range []struct{ field, key, who string }{
		{"annotations", "meta.helm.sh/release-name", "Helm release"},
		{"annotations", "argocd.argoproj.io/tracking-id", "Argo CD application"},
		{"annotations", "config.k8s.io/owning-inventory", "inventory"},
		{"labels", "kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"},
	} {
		if name := manifest.NestedString(live, "metadata", tool.field, tool.key); name != "" {
			return tool.who + " " + name
		}
	}
	return ""
}

// IsOwned reports whether a live object belongs to the Application: it has the tracking metadata, or it has
// lost them and the inventory contains its UID. An Application without a UID exists only in a file, and all live
// objects that are given with it belong to it.
func IsOwned(app *v1alpha1.Application, id manifest.ID, status *v1alpha1.ResourceStatus, live map[string]any) bool {
	if app.UID == "" || IsTrackedBy(app, id, live) {
		return true
	}
	if status == nil || status.Ownership == v1alpha1.OwnershipShare || status.UID == "" || string(status.UID) != manifest.NestedString(live, "metadata", "uid") {
		return false
	}
	// The UIDs of the object agree, so it is the object in the inventory, and has lost its tracking metadata.
	// Another Application that has adopted it has replaced the label and the annotation.
	other := manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID)
	return other == "" || other == string(app.UID) || hasTrackingID(app, id, live)
}

// hasTrackingID reports whether an object has the tracking-id of the Application and of itself, so a copy of another
// object does not match. If the Application does not own the object, an Application with this namespace and name did
// before the cluster was restored: all objects then have new UIDs. It adopts the object, whatever spec.adoption is.
func hasTrackingID(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// isMarkedAdopted reports whether an object has the annotation of adopted objects.
func isMarkedAdopted(live map[string]any) bool {
	return manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationAdopted) != ""
}

// WasAdopted reports whether an object of the Application existed before the Application: its annotation or
// the inventory shows it. If neither does, for example after the status was lost, an object that is older than the
// Application counts as adopted. It does not check that the Application owns the object.
func WasAdopted(app *v1alpha1.Application, status *v1alpha1.ResourceStatus, live map[string]any) bool {
	if isMarkedAdopted(live) {
		return true
	}
	if status != nil && status.Origin != "" && string(status.UID) == manifest.NestedString(live, "metadata", "uid") {
		return status.Origin == v1alpha1.OriginAdopted
	}
	created, err := time.Parse(time.RFC3339, manifest.NestedString(live, "metadata", "creationTimestamp"))
	return err == nil && created.Before(app.CreationTimestamp.Time)
}
