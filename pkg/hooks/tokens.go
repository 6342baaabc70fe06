package hooks

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Purpose is what a callback is for. A token is good for one purpose of one
// Application.
type Purpose string

// The callbacks of an Application.
const (
	Complete  Purpose = "complete"
	Shutdown  Purpose = "shutdown"
	Reconcile Purpose = "reconcile"
)

// tokenLength is that of a token with 256 bits.
const tokenLength = 43

// keptTokens is how many digests of tokens that are in no Secret any more are
// kept: Pods that were started with an older Secret still have its tokens.
const keptTokens = 9

// Purposes are the callbacks that an Application has.
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

// TokenDigest is what the status keeps of a token: the SHA-256 digest, in
// hexadecimal, of the purpose and the token.
func TokenDigest(purpose Purpose, token string) string {
	sum := sha256.Sum256([]byte(string(purpose) + "\n" + token))
	return hex.EncodeToString(sum[:])
}

// Accepts reports whether a token is one of those whose digests are given. It takes
// the same time whichever of them it is, and for none of them.
func Accepts(digests []string, purpose Purpose, token string) bool {
	got := []byte(TokenDigest(purpose, token))
	equal := 0
	for _, digest := range digests {
		equal |= subtle.ConstantTimeCompare(got, []byte(digest))
	}
	return equal == 1 && token != ""
}

// Tokens is a listener of ResourcePostCreate, ResourcePostUpdate and
// ResourceObserved: it finds the digests of the tokens in the Secret that has
// them.
func Tokens(s *Seen) error {
	if !manifest.IsSecret(s.ID.GroupKind()) || s.ID.Name != SecretName(s.Application) {
		return nil
	}
	data, _ := s.Live["data"].(map[string]any)
	for _, purpose := range Purposes(s.Application) {
		text, _ := data[tokenKey(purpose)].(string)
		token, err := base64.StdEncoding.DecodeString(text)
		if err == nil && len(token) == tokenLength {
			s.Tokens = append(s.Tokens, TokenDigest(purpose, string(token)))
		}
	}
	return nil
}

// KeepTokens adds digests to those on record, newest first, and forgets the
// oldest.
func KeepTokens(before, digests []string) []string {
	kept := slices.Clone(digests)
	for _, digest := range before {
		if !slices.Contains(kept, digest) {
			kept = append(kept, digest)
		}
	}
	return kept[:min(len(kept), len(digests)+keptTokens)]
}

func tokenKey(purpose Purpose) string { return string(purpose) + "-token" }
func urlKey(purpose Purpose) string   { return string(purpose) + "-url" }

// SecretName is the name of the Secret with the addresses and tokens of an
// Application's callbacks, one in each namespace that has Pods of it.
func SecretName(app *v1alpha1.Application) string { return app.Name + "-hooks" }

// CallbackPath is the path of a callback.
func CallbackPath(namespace, name string, purpose Purpose) string {
	return strings.Join([]string{"/v1/applications", namespace, name, string(purpose)}, "/")
}
