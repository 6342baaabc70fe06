package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestManager is what an API server takes for the name of a field manager.
const longestManager = 128

// FieldManagerOf is the name under which the objects of an Application are written, so that
// a conflict of a server-side apply says who holds a field: holdfast:<namespace>/<name>. Of
// one that is too long, the end is a digest.
func FieldManagerOf(namespace, name string) string {
	manager := FieldManager + ":" + namespace + "/" + name
	if len(manager) <= longestManager {
		return manager
	}
	sum := sha256.Sum256([]byte(manager))
	digest := hex.EncodeToString(sum[:8])
	return manager[:longestManager-len(digest)-1] + "~" + digest
}

// IsFieldManagerOf reports whether a field manager is that of an Application: by its own
// name, or by the one that all had in older versions.
func IsFieldManagerOf(manager, namespace, name string) bool {
	return manager == FieldManager || manager == FieldManagerOf(namespace, name)
}

// IsFieldManager reports whether a field manager is that of some Application.
func IsFieldManager(manager string) bool {
	return manager == FieldManager || strings.HasPrefix(manager, FieldManager+":")
}
