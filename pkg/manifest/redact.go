package manifest

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Masked replaces the values of Secrets in output.
const Masked = "***"

// LastApplied is the annotation in which kubectl apply keeps a copy of the object.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// IsSecret reports whether objects of the kind contain secret values.
func IsSecret(gk schema.GroupKind) bool {
	return gk == schema.GroupKind{Kind: "Secret"}
}

// Redact masks every value of a Secret: those in data and stringData, and the copy that kubectl apply keeps
// in an annotation. Other objects are returned unchanged. The input is not modified; the result shares the
// parts that are not masked.
//
//	data: {password: aHVudGVy}                    data: {password: '***'}
//	data: x                                       data: '***'
//	type: Opaque                                  unchanged
//	kubectl.kubernetes.io/last-applied-…: {…}     '***'
//
// Keys are shown, and so is the number of keys. The length of a value is not.
func Redact(content map[string]any) map[string]any {
	if !isSecret(content) {
		return content
	}
	redacted := maps.Clone(content)
	for field, value := range content {
		if SecretField(field) {
			redacted[field] = maskAll(value)
		}
	}
	if annotations := annotationsOf(content); annotations[LastApplied] != nil {
		redacted["metadata"] = withLastApplied(content, Masked)
	}
	return redacted
}

// withLastApplied returns a copy of the metadata of an object with another text in the annotation LastApplied, which the
// object must have.
func withLastApplied(content map[string]any, text string) map[string]any {
	metadata := maps.Clone(NestedMap(content, "metadata"))
	annotations := maps.Clone(annotationsOf(content))
	annotations[LastApplied] = text
	metadata["annotations"] = annotations
	return metadata
}

// SecretField reports whether a field of a Secret is confidential. Unknown fields are, because the name can be a typing
// error such as stringdata. "" is the path of the whole object, whose fields are judged one by one.
func SecretField(field string) bool {
	switch field {
	case "apiVersion", "kind", "metadata", "type", "immutable", "":
		return false
	}
	return true
}

// isSecret also returns true for incomplete objects, for example without an apiVersion, to be safe.
// A Secret of another API group is not one of Kubernetes, and is shown.
func isSecret(content map[string]any) bool {
	apiVersion, _ := content["apiVersion"].(string)
	return content["kind"] == "Secret" && !strings.Contains(apiVersion, "/")
}

// maskAll masks each value of a map, and keeps its keys. It masks anything else as one value.
func maskAll(value any) any {
	values, ok := value.(map[string]any)
	if !ok {
		return Masked
	}
	masked := make(map[string]any, len(values))
	for key := range values {
		masked[key] = Masked
	}
	return masked
}

// annotationsOf returns the annotations of an object, or nil. It does not copy them.
func annotationsOf(content map[string]any) map[string]any {
	return NestedMap(content, "metadata", "annotations")
}
