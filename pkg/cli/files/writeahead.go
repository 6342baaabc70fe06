package files

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// Ahead lists the annotations of the write-ahead record. The controller writes them before it creates the first
// object; see "Crashes" in docs/design.md. They are not part of the user's input.
var Ahead = []string{v1alpha1.AnnotationKinds, v1alpha1.AnnotationNamespaces, v1alpha1.AnnotationCreating}

// WithAhead returns a copy of the content of an Application that is about to be created, with the write-ahead
// record and the finalizer of the controller. The controller then needs one request less before its first write.
// WithAhead returns the content itself if Check could not decide, or if the plan creates nothing. Call it after
// Check.
//
//	metadata.finalizers   the finalizer of the controller
//	holdfast.dev/...      the kinds and namespaces of the objects, and the names of those to create
//
// The finalizer must exist before the first object, so that a deletion of the Application deletes its objects.
func (s *Submission) WithAhead(content map[string]any) map[string]any {
	if s.input == nil {
		return content
	}
	app := s.input.Application.DeepCopy()
	// The API server assigns the UID. A placeholder makes the plan treat the Application as a stored one.
	app.UID = "not known yet"
	input := *s.input
	input.Application = app
	annotations := reconcile.Ahead(plan.Decide(input), app)
	if len(annotations) == 0 {
		return content
	}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	all := map[string]string{}
	maps.Copy(all, object.GetAnnotations())
	maps.Copy(all, annotations)
	object.SetAnnotations(all)
	object.SetFinalizers(append(object.GetFinalizers(), v1alpha1.Finalizer))
	return object.Object
}
