package hooks

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Purpose is the purpose of a callback. A token is valid for one purpose of one Application.
type Purpose string

// The purposes of callbacks.
const (
	Complete  Purpose = "complete"
	Shutdown  Purpose = "shutdown"
	Reconcile Purpose = "reconcile"
)

var allPurposes = []Purpose{Complete, Shutdown, Reconcile}

// tokenLength is the length of a token with 256 bits.
const tokenLength = 43

// keptTokens is the number of digests that are kept of tokens no longer in any Secret: Pods that started
// with an older Secret still use its tokens.
const keptTokens = 9

// Purposes returns the purposes for which an Application has hooks.
func Purposes(app *v1alpha1.Application) []Purpose {
	var purposes []Purpose
	if h := app.Spec.Hooks; h != nil {
		if h.Complete != nil {
			purposes = append(purposes, Complete)
		}
		if h.Shutdown != nil {
			purposes = append(purposes, Shutdown)
		}
		if h.Reconcile != nil {
			purposes = append(purposes, Reconcile)
		}
	}
	return purposes
}

// TokenDigest returns the digest of a token for the status: the SHA-256 of the purpose and the token, in
// hexadecimal.
func TokenDigest(purpose Purpose, token string) string {
	sum := sha256.Sum256([]byte(string(purpose) + "\n" + token))
	return hex.EncodeToString(sum[:])
}

// Accepts reports whether one of the digests belongs to the token. Its time depends only on the number of digests, so
// that callers cannot guess which digest matches.
func Accepts(digests []string, purpose Purpose, token string) bool {
	got := []byte(TokenDigest(purpose, token))
	equal := 0
	for _, digest := range digests {
		equal |= subtle.ConstantTimeCompare(got, []byte(digest))
	}
	return equal == 1 && token != ""
}

// Tokens listens to ResourcePostCreate, ResourcePostUpdate and ResourceObserved. It computes the
// digests of the tokens in the Secret that contains them.
func Tokens(s *ObjectEvent) error {
	if !manifest.IsSecret(s.ID.GroupKind()) || s.ID.Name != SecretName(s.Application) {
		return nil
	}
	data, _ := s.Live["data"].(map[string]any)
	for _, purpose := range Purposes(s.Application) {
		// A value of another length was written by another client, and is not accepted as a token.
		if token := decodeSecretValue(data[tokenKey(purpose)]); len(token) == tokenLength {
			s.Tokens = append(s.Tokens, TokenDigest(purpose, string(token)))
		}
	}
	return nil
}

// KeepTokens adds digests to the recorded ones, newest first, and drops the oldest. It changes neither argument.
func KeepTokens(before, digests []string) []string {
	kept := slices.Clone(digests)
	for _, digest := range before {
		if !slices.Contains(kept, digest) {
			kept = append(kept, digest)
		}
	}
	return kept[:min(len(kept), len(digests)+keptTokens)]
}

// tokenKey and urlKey return the keys of the Secret for a purpose.
func tokenKey(purpose Purpose) string { return string(purpose) + "-token" }
func urlKey(purpose Purpose) string   { return string(purpose) + "-url" }

// SecretName returns the name of the Secret with the addresses and tokens of an Application's callbacks.
// There is one in each namespace with Pods of the Application.
func SecretName(app *v1alpha1.Application) string { return app.Name + "-hooks" }

// CallbackPath returns the URL path of a callback.
func CallbackPath(namespace, name string, purpose Purpose) string {
	return strings.Join([]string{"/v1/applications", namespace, name, string(purpose)}, "/")
}
