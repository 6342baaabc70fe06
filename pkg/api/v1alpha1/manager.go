package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// longestManager is the length limit of the API server for a field manager.
const longestManager = 128

// FieldManagerOf returns the field manager for the objects of an Application: holdfast:<namespace>/<name>.
// A conflict of a server-side apply then names the Application that holds a field. If the name is too long,
// its end is replaced by a digest.
func FieldManagerOf(namespace, name string) string {
	manager := FieldManager + ":" + namespace + "/" + name
	if len(manager) <= longestManager {
		return manager
	}
	sum := sha256.Sum256([]byte(manager))
	digest := hex.EncodeToString(sum[:8])
	return manager[:longestManager-len(digest)-1] + "~" + digest
}

// IsFieldManager reports whether a field manager belongs to any Application, or to the controller.
func IsFieldManager(manager string) bool {
	return manager == FieldManager || strings.HasPrefix(manager, FieldManager+":")
}
