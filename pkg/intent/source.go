package intent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Source is the translation of a template or archive.
type Source struct {
	// Objects are the manifests, in order. If Problem is set, they are the result of the last successful
	// translation, or nil if there was none.
	Objects []map[string]any
	// Outputs are the template outputs that can be evaluated.
	Outputs map[string]any
	// Digest is the SHA-256 digest of the template or archive and its inputs, in hexadecimal.
	Digest   string
	Warnings []string
	// Problem is set if the source could not be fetched or translated. It can be set together with Objects: the last
	// translation remains in effect while a server does not respond.
	Problem *Problem
	// Restored is true if Objects are from the status: see the function Restored.
	Restored bool
}

// ManifestDigest returns the SHA-256 digest of the manifests as JSON, in hexadecimal. It excludes values of Secrets,
// because a digest reveals a value that is easy to guess. It returns "" if the manifests cannot be encoded. The status
// records it, to show whether it describes these manifests.
func (s *Source) ManifestDigest() string {
	shown := make([]map[string]any, len(s.Objects))
	for i, object := range s.Objects {
		shown[i] = manifest.RedactNested(object)
	}
	return Digest(shown)
}

// Digest returns the SHA-256 digest of a value as JSON, in hexadecimal. It returns "" if the value cannot be encoded.
func Digest(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
