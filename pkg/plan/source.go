package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Source is what a template or archive was translated into.
type Source struct {
	// Objects are the manifests, in their order; those of the last good
	// translation if Problem is set, nil if there never was one.
	Objects []map[string]any
	// Outputs are those of the template that can be evaluated.
	Outputs map[string]any
	// Digest is that of what was translated, inputs included: SHA-256 in
	// hexadecimal.
	Digest   string
	Warnings []string
	// Problem is why the source could not be fetched or translated now.
	Problem *Problem
	// Restored tells that Objects are from the status: see Restored.
	Restored bool
}

// ManifestDigest is the SHA-256 digest of the manifests as JSON, in hexadecimal.
// Values of Secrets are not part of it: a digest of what is easy to guess tells
// it.
func (s *Source) ManifestDigest() string {
	shown := make([]map[string]any, len(s.Objects))
	for i, object := range s.Objects {
		shown[i] = manifest.RedactNested(object)
	}
	raw, err := json.Marshal(shown)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
