package plan

import (
	"maps"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// element represents a list element among the fields of a path.
const element = "[]"

// IsSecretPath reports whether a path of a resource leads to a value that only readers of the Secret may see.
// A path that cannot be parsed may lead anywhere.
func IsSecretPath(id manifest.ID, path string) bool { return secretPath(id, path) }

func secretPath(id manifest.ID, path string) bool {
	if !mayHaveSecrets(id) {
		return false
	}
	parsed, err := observer.ParsePath(path)
	if err != nil {
		return true
	}
	var fields []string
	for _, step := range parsed.Chain() {
		if step.IsElement() {
			fields = append(fields, element)
			continue
		}
		fields = append(fields, step.Name())
	}
	return secretFields(id, fields)
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// IsSecretPointer is like IsSecretPath, for a JSON pointer.
func IsSecretPointer(id manifest.ID, pointer string) bool {
	if !mayHaveSecrets(id) {
		return false
	}
	fields := strings.Split(pointer, "/")[1:]
	for i, field := range fields {
		fields[i] = unescapePointer.Replace(field)
	}
	return secretFields(id, fields)
}

// mayHaveSecrets reports whether objects of a kind can have values of Secrets: a Secret, or an Application.
func mayHaveSecrets(id manifest.ID) bool {
	return manifest.IsSecret(id.GroupKind()) || manifest.HasManifests(id.GroupKind())
}

// secretFields reports whether the fields of a path lead to a value of a Secret, in a Secret or in an
// object that may contain one. If the annotations of a Secret are one value, all of them are masked,
// because kubectl apply stores a copy of the object there.
func secretFields(id manifest.ID, fields []string) bool {
	switch {
	case manifest.HasManifests(id.GroupKind()):
		return nestedSecretFields(fields)
	case len(fields) == 0:
		return false
	case fields[0] != "metadata":
		return manifest.SecretField(fields[0])
	}
	return len(fields) > 1 && fields[1] == "annotations" && (len(fields) == 2 || fields[2] == manifest.LastApplied)
}

// nestedSecretFields reports whether a path of an Application leads to a value of a Secret among its
// manifests, or in spec.select[].hold. It assumes that each may be a Secret, because a path does not contain its kind.
// It is true for every map and list that contains such a value.
func nestedSecretFields(fields []string) bool {
	switch {
	case len(fields) == 0:
		return true
	case fields[0] == "metadata":
		return len(fields) == 1 || fields[1] == "annotations"
	case fields[0] != "spec":
		return false
	case len(fields) == 1:
		return true
	}
	depth := map[string]int{"manifest": 3, "select": 4}[fields[1]] // spec.manifest[], spec.select[].hold
	switch {
	case depth == 0, fields[1] == "select" && len(fields) > 3 && fields[3] != "hold":
		return false
	case len(fields) <= depth:
		return true
	}
	switch inner := fields[depth:]; inner[0] {
	case "metadata", "spec": // a Secret has no spec, but another Application has
		return nestedSecretFields(inner)
	default:
		return manifest.SecretField(inner[0])
	}
}

// withoutSecrets returns a copy of a Secret without the values that only its readers may see. The copy
// shares all other values with the original.
func withoutSecrets(object map[string]any) map[string]any {
	visible := maps.Clone(object)
	maps.DeleteFunc(visible, func(field string, _ any) bool { return manifest.SecretField(field) })
	return withoutLastApplied(visible)
}

// withoutLastApplied returns an object without the annotation in which kubectl apply stores the whole object. It does not
// change the argument, which is the result if it does not have the annotation.
func withoutLastApplied(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, has := annotations[manifest.LastApplied]; !has {
		return object
	}
	object, annotations, metadata = maps.Clone(object), maps.Clone(annotations), maps.Clone(metadata)
	delete(annotations, manifest.LastApplied)
	metadata["annotations"], object["metadata"] = annotations, metadata
	return object
}

// MaskedPair returns two values at a path for display. If the path leads to a value of a Secret, both are masked, but
// still differ. Absent values remain absent.
func MaskedPair(id manifest.ID, path string, desired, observed delta.Value) (maskedDesired, maskedObserved delta.Value) {
	if !secretPath(id, path) {
		return desired, observed
	}
	if desired.Set {
		desired.Any = manifest.Masked + " (desired)"
	}
	if observed.Set {
		observed.Any = manifest.Masked + " (observed)"
	}
	return desired, observed
}
