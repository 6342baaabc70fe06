package manifest

import (
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Masked stands for a value of a Secret wherever one would be shown.
const Masked = "***"

// In a diff the change of a value must show, though the value must not.
const (
	maskedBefore = Masked + " (before)"
	maskedAfter  = Masked + " (after)"
)

// lastApplied is where kubectl apply keeps a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// IsSecret reports whether objects of the kind hold secret values.
func IsSecret(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Secret"}
}

// Redact returns the content with every value of a Secret masked: those of data
// and stringData, and the copy that kubectl apply keeps in an annotation. What
// is not a Secret is returned as it is. The input is not modified; what is not
// masked is shared with it.
func Redact(content map[string]any) map[string]any {
	return redact(content, nil, Masked)
}

// RedactChange redacts two states of one object as kubectl diff does: a value
// that differs is "*** (before)" and "*** (after)", any other "***". Either
// state may be nil.
func RedactChange(before, after map[string]any) (redactedBefore, redactedAfter map[string]any) {
	return redact(before, after, maskedBefore), redact(after, before, maskedAfter)
}

// redact masks values, with mark those that the other state has too, but
// different.
func redact(content, other map[string]any, mark string) map[string]any {
	if !isSecret(content) {
		return content
	}
	redacted := maps.Clone(content)
	for field, value := range content {
		if SecretField(field) {
			redacted[field] = maskAll(value, other[field], mark)
		}
	}
	if annotations := annotationsOf(content); annotations[lastApplied] != nil {
		annotations = maps.Clone(annotations)
		annotations[lastApplied] = maskOne(annotations, annotationsOf(other), lastApplied, mark)
		metadata := maps.Clone(content["metadata"].(map[string]any))
		metadata["annotations"] = annotations
		redacted["metadata"] = metadata
	}
	return redacted
}

// SecretField reports whether only readers of a Secret may see a field of it. What
// is not known to be open is not: it may be a typing error, stringdata.
func SecretField(field string) bool {
	switch field {
	case "apiVersion", "kind", "metadata", "type", "immutable", "":
		return false
	}
	return true
}

// isSecret errs on the side of masking: half an object may lack its apiVersion.
func isSecret(content map[string]any) bool {
	apiVersion, _ := content["apiVersion"].(string)
	return content["kind"] == "Secret" && !strings.Contains(apiVersion, "/")
}

func maskAll(value, other any, mark string) any {
	values, ok := value.(map[string]any)
	if !ok {
		return Masked
	}
	others, _ := other.(map[string]any)
	masked := make(map[string]any, len(values))
	for key := range values {
		masked[key] = maskOne(values, others, key, mark)
	}
	return masked
}

func maskOne(values, others map[string]any, key, mark string) string {
	if other, both := others[key]; both && !reflect.DeepEqual(values[key], other) {
		return mark
	}
	return Masked
}

func annotationsOf(content map[string]any) map[string]any {
	metadata, _ := content["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}
