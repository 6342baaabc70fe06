package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fleeting reports whether objects of a kind of Kubernetes itself are questions and
// answers that nothing is stored of (a TokenReview, a Binding): they can be created, and
// neither listed nor watched.
func Fleeting(gk schema.GroupKind) bool {
	switch gk.Group {
	case "":
		return gk.Kind == "Binding"
	case "authentication.k8s.io", "authorization.k8s.io":
		return strings.HasSuffix(gk.Kind, "Review") || gk.Kind == "TokenRequest"
	}
	return false
}
