package cluster

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"holdfast.dev/holdfast/pkg/observer"
)

// Normalize returns an object as the API server stores it before defaulting: quantities and times in
// normalized form, and without omitted zero values. Fields that are unknown to this version of the types
// are unchanged. It returns nil if the kind is not built in, or if a value does not match its type.
func Normalize(gvk schema.GroupVersionKind, object map[string]any) map[string]any {
	typed, err := scheme.Scheme.New(gvk)
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed) != nil {
		return nil
	}
	normal, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil
	}
	spelled, _ := respell(object, normal).(map[string]any)
	return spelled
}

// respell returns a value in the spelling of normal, without fields that exist only in normal, and without zero
// values that normal omits. It changes neither argument.
func respell(value, normal any) any {
	switch v := value.(type) {
	case map[string]any:
		n, ok := normal.(map[string]any)
		if !ok {
			break
		}
		out := make(map[string]any, len(v))
		for name, child := range v {
			if spelled, ok := n[name]; ok {
				out[name] = respell(child, spelled)
			} else if !observer.Empty(child) {
				// The types do not know the field. An empty one was omitted as a zero value.
				out[name] = child
			}
		}
		return out
	case []any:
		n, ok := normal.([]any)
		if !ok || len(n) != len(v) {
			break
		}
		out := make([]any, len(v))
		for i := range v {
			out[i] = respell(v[i], n[i])
		}
		return out
	}
	return normal
}
