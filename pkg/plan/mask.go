package plan

import (
	"strings"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// secretPath tells whether a path of a resource leads to what only readers of
// the Secret may see.
func secretPath(id manifest.ID, path string) bool {
	return manifest.IsSecret(id.GroupKind()) && (observer.Under(path, "data") || observer.Under(path, "stringData"))
}

func secretPointer(id manifest.ID, pointer string) bool {
	return manifest.IsSecret(id.GroupKind()) &&
		(strings.HasPrefix(pointer, "/data") || strings.HasPrefix(pointer, "/stringData"))
}

// MaskedValues are the two values of a difference as they may be shown: of a
// Secret only that they differ.
func MaskedValues(id manifest.ID, d delta.Difference) (desired, observed delta.Value) {
	desired, observed = d.Desired, d.Observed
	if !secretPath(id, d.Path) {
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
