package files

import (
	"encoding/json"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/manifest"
)

// MaskApplication masks the values of Secrets in an Application: in its manifests, in its status, and in the
// copy that client-side kubectl apply keeps. It changes object. It reports whether the manifests or the copy
// contained any. A copy that is no JSON object is masked completely.
//
//	spec.manifest[].data of a Secret          ***
//	spec.manifest[] is an Application         masked in the same way
//	spec.select[].hold                        masked like a manifest of the item's kind
//	status.lastAppliedManifest                ***, which the controller has written already
//	the annotation of kubectl apply           decoded, masked and encoded again
//
// Values in spec.tosca, spec.csar and in other kinds are printed: the API server shows them to every reader, too.
func MaskApplication(object map[string]any) (masked bool) {
	for _, field := range []string{"lastAppliedManifest", "lastObservedManifest"} {
		items, _, _ := unstructured.NestedFieldNoCopy(object, "status", field)
		list, _ := items.([]any)
		for i, item := range list {
			if content, ok := item.(map[string]any); ok {
				list[i] = manifest.RedactNested(content)
			}
		}
	}
	shown := manifest.MapManifests(object, func(content map[string]any) map[string]any {
		visible := manifest.RedactNested(content)
		masked = masked || manifest.NestedString(content, "kind") == "Secret" || !reflect.DeepEqual(visible, content)
		return visible
	})
	maps.Copy(object, shown)
	texts := manifest.NestedMap(object, "metadata", "annotations")
	copied, has := texts[manifest.LastApplied].(string)
	if !has {
		return masked
	}
	// The copy is masked first, so that no later error leaves values in it.
	texts[manifest.LastApplied] = manifest.Masked
	var applied map[string]any
	if json.Unmarshal([]byte(copied), &applied) != nil {
		return true
	}
	masked = MaskApplication(applied) || masked
	if raw, err := json.Marshal(applied); err == nil {
		texts[manifest.LastApplied] = string(raw)
	}
	return masked
}
