package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsEphemeral reports whether the API server never stores objects of a built-in kind, such as TokenReview
// or Binding. They can be created, but neither listed nor watched.
func IsEphemeral(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return gk.Kind == "Binding"
	case "authentication.k8s.io", "authorization.k8s.io":
		return strings.HasSuffix(gk.Kind, "Review") || gk.Kind == "TokenRequest"
	}
	return false
}
