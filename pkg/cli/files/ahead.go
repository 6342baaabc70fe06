package files

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// Ahead lists the annotations of the write-ahead record, which the controller writes before it creates the
// first object. They are not part of the user's input.
var Ahead = []string{v1alpha1.AnnotationKinds, v1alpha1.AnnotationNamespaces, v1alpha1.AnnotationCreating}

// WithAhead returns the content of an Application that is about to be created, with the write-ahead record
// of the controller. The controller then needs one request less before its first write. The content is
// returned unchanged if it is unknown what the controller will create, or if it creates nothing.
func (s *Submission) WithAhead(content map[string]any) map[string]any {
	if s.input == nil {
		return content
	}
	app := s.input.Application.DeepCopy()
	app.UID = "not known yet"
	input := *s.input
	input.Application = app
	annotations := reconcile.Ahead(plan.Decide(input), app)
	if len(annotations) == 0 {
		return content
	}
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	all := maps.Clone(object.GetAnnotations())
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, annotations)
	object.SetAnnotations(all)
	object.SetFinalizers(append(object.GetFinalizers(), v1alpha1.Finalizer))
	return object.Object
}
