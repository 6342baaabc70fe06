package plan

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Offline returns the built-in kinds, which are known without an API server.
func Offline() Kinds { return offline{manifest.BuiltinScopes()} }

type offline struct{ manifest.Scopes }

func (offline) Type(gvk schema.GroupVersionKind) *kinds.Node { return kinds.Builtin(gvk) }
