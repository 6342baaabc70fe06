package plan

import (
	"maps"
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Places in the metadata of a Secret that only its readers may see. The
// annotations are masked whole where they are one value, for kubectl apply keeps a
// copy of the object among them.
const (
	lastAppliedPath    = "metadata.annotations['" + lastAppliedAnnotation + "']"
	lastAppliedPointer = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration"
)

// secretPath reports whether a path of a resource leads to what only readers of
// the Secret may see.
func secretPath(id manifest.ID, path string) bool {
	if manifest.HasManifests(id.GroupKind()) {
		return nestedSecretPath(path)
	}
	field, _, _ := strings.Cut(strings.ReplaceAll(path, "[", "."), ".")
	return manifest.IsSecret(id.GroupKind()) &&
		(manifest.SecretField(field) || strings.HasPrefix(path, "[") || path == "metadata.annotations" || observer.Under(path, lastAppliedPath))
}

func secretPointer(id manifest.ID, pointer string) bool {
	if manifest.HasManifests(id.GroupKind()) {
		return nestedSecretPath(strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", "."))
	}
	field, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	return manifest.IsSecret(id.GroupKind()) &&
		(manifest.SecretField(field) || pointer == "/metadata/annotations" || strings.HasPrefix(pointer, lastAppliedPointer))
}

// nestedSecretPath reports whether a path of an Application leads to what a Secret among
// its manifests may have there: a path does not say of what kind a manifest is. What is
// whole has all that is in it.
func nestedSecretPath(path string) bool {
	rest, within := strings.CutPrefix(path, "spec.manifest")
	if !within {
		return path == "" || path == "spec" || path == "metadata" || strings.HasPrefix(path, "metadata.annotations")
	}
	rest = strings.TrimPrefix(rest, ".")
	end := "." // of the index in a pointer
	if strings.HasPrefix(rest, "[") {
		end = "]"
	}
	_, rest, _ = strings.Cut(rest, end)
	rest = strings.TrimPrefix(rest, ".")
	switch field, _, _ := strings.Cut(strings.ReplaceAll(rest, "[", "."), "."); field {
	case "metadata":
		return nestedSecretPath(rest)
	case "spec": // of a Secret there is none, but of another Application
		return rest == "spec" || (strings.HasPrefix(rest, "spec.manifest") && nestedSecretPath(rest))
	default:
		return field == "" || manifest.SecretField(field)
	}
}

// withoutSecrets is a Secret without what only its readers may see. The object
// is not changed, and what is not left out is shared with it.
func withoutSecrets(object map[string]any) map[string]any {
	visible := maps.Clone(object)
	maps.DeleteFunc(visible, func(field string, _ any) bool { return manifest.SecretField(field) })
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, has := annotations[lastAppliedAnnotation]; has {
		annotations, metadata = maps.Clone(annotations), maps.Clone(metadata)
		delete(annotations, lastAppliedAnnotation)
		metadata["annotations"] = annotations
		visible["metadata"] = metadata
	}
	return visible
}

// MaskedValues are the two values of a difference as they may be shown: of a
// Secret only that they differ.
func MaskedValues(id manifest.ID, d delta.Difference) (desired, observed delta.Value) {
	return maskedPair(id, d.Path, d.Desired, d.Observed)
}

func maskedPair(id manifest.ID, path string, desired, observed delta.Value) (maskedDesired, maskedObserved delta.Value) {
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

// lastAppliedAnnotation is where a client-side kubectl apply keeps what it was
// given.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
