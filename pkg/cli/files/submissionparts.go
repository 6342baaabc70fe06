package files

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// Objects returns copies of the objects to send, in this order: the slices, if there are any, and the
// Application. They have the form that printers need, and contain the values of Secrets.
func (s *Submission) Objects() ([]*unstructured.Unstructured, error) {
	content, parts, err := s.Cut()
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, 0, len(parts)+1)
	for i := range parts {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&parts[i])
		if err != nil {
			return nil, err
		}
		// The converter writes the zero time as null, which an API server would not print.
		unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
		objects = append(objects, &unstructured.Unstructured{Object: object})
	}
	return append(objects, &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}), nil
}

// Object returns a copy of the entire content in the form that printers need, with the values of Secrets.
func (s *Submission) Object() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(s.Content)}
}

// Cut returns the content of a submission as it is stored. The parts that are too large are returned as slices,
// which must be created before the Application. Below slice.SpecBytes, the content is returned itself. Values of
// Secrets are never in slices. The limit keeps the Application below the size that etcd accepts for one object, 1.5
// MiB by default.
func (s *Submission) Cut() (content map[string]any, parts []v1alpha1.ApplicationSlice, err error) {
	raw, err := json.Marshal(s.Content)
	if err != nil || len(raw) <= slice.SpecBytes {
		return s.Content, nil, err
	}
	spec, _ := s.Content["spec"].(map[string]any)
	stored, parts, err := slice.SplitSpec(s.Namespace, s.Name, spec, slice.MinListBytes)
	if err != nil {
		return nil, nil, err
	}
	return map[string]any{
		"apiVersion": s.Content["apiVersion"], "kind": s.Content["kind"], "metadata": s.Content["metadata"], "spec": stored,
	}, parts, nil
}
