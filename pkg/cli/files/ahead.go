package files

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/turn"
)

// Ahead are the annotations that are written before the first object is created. They are
// not the user's.
var Ahead = []string{v1alpha1.AnnotationKinds, v1alpha1.AnnotationNamespaces, v1alpha1.AnnotationCreating}

// WithAhead is a content that is about to be created with what the controller would have
// to write down before its first write: it has one request less to send then. Nothing is
// added where it is not known what the controller will create, and to what creates
// nothing.
func (s *Submission) WithAhead(content map[string]any) map[string]any {
	if s.input == nil {
		return content
	}
	app := s.input.Application.DeepCopy()
	app.UID = "not known yet"
	input := *s.input
	input.Application = app
	annotations := turn.Ahead(plan.Decide(input), app)
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
