package manifest

import (
	"encoding/json"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// HasManifests reports whether objects of the kind have manifests in them, some of which
// may be Secrets: Applications have.
func HasManifests(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v1alpha1.Kind}
}

// Shown is an object as people may see it: redacted, and of an Application its manifests,
// of a list its items, too, however deep. The input is not modified; what is not masked is shared with it.
func Shown(content map[string]any) map[string]any {
	shown, _ := ShownChange(content, nil)
	return shown
}

// ShownChange are two states of one object as people may see them. See RedactChange.
func ShownChange(before, after map[string]any) (shownBefore, shownAfter map[string]any) {
	return shown(before, after, maskedBeside(after, maskedBefore)), shown(after, before, maskedBeside(before, maskedAfter))
}

// maskedBeside is the mark of a value that differs from that of another state.
func maskedBeside(other map[string]any, mark string) string {
	if other == nil {
		return Masked
	}
	return mark
}

func shown(content, other map[string]any, mark string) map[string]any {
	if content == nil {
		return nil
	}
	apiVersion, _ := content["apiVersion"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	kind, _ := content["kind"].(string)
	if items, is := content["items"].([]any); is && strings.HasSuffix(kind, "List") {
		visible := maps.Clone(content)
		others, _ := other["items"].([]any)
		visible["items"] = shownList(items, others, mark)
		if kind == "SecretList" { // its items need not say what they are
			visible["items"] = Masked
		}
		return visible
	}
	if !HasManifests(schema.GroupKind{Group: group, Kind: kind}) {
		return redact(content, other, mark)
	}
	visible := maps.Clone(content)
	if spec, is := content["spec"].(map[string]any); is {
		spec = maps.Clone(spec)
		if list, is := spec["manifest"].([]any); is {
			otherSpec, _ := other["spec"].(map[string]any)
			others, _ := otherSpec["manifest"].([]any)
			spec["manifest"] = shownList(list, others, mark)
		}
		visible["spec"] = spec
	}
	if copied, is := annotationsOf(content)[lastApplied].(string); is {
		annotations, metadata := maps.Clone(annotationsOf(content)), maps.Clone(content["metadata"].(map[string]any))
		annotations[lastApplied] = shownCopy(copied)
		metadata["annotations"], visible["metadata"] = annotations, metadata
	}
	return visible
}

func shownList(list, others []any, mark string) []any {
	visible := make([]any, len(list))
	for i, item := range list {
		visible[i] = item
		if content, is := item.(map[string]any); is {
			var other map[string]any
			if i < len(others) {
				other, _ = others[i].(map[string]any)
			}
			visible[i] = shown(content, other, mark)
		}
	}
	return visible
}

// shownCopy is the copy that kubectl apply keeps of an Application.
func shownCopy(text string) string {
	var applied map[string]any
	if json.Unmarshal([]byte(text), &applied) != nil {
		return Masked
	}
	raw, err := json.Marshal(Shown(applied))
	if err != nil {
		return Masked
	}
	return string(raw)
}
