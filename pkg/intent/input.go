package intent

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Input is an Application with the data that its manifests and schemas depend on.
type Input struct {
	Application *v1alpha1.Application
	// Live has the live objects. Selections, references and rules depend on them.
	Live  map[manifest.ID]map[string]any
	Kinds Kinds
	// Source has the manifests that spec.tosca or spec.csar was translated into.
	Source   *Source
	Profiles Profiles
	Hooks    *hooks.Hooks
}

// Kinds is a source of scopes and typed schemas of kinds: the built-in table, or an API server.
type Kinds interface {
	manifest.Scopes
	// Type returns the typed schema of a kind, or nil.
	Type(gvk schema.GroupVersionKind) *kinds.Node
}

// Offline returns the built-in kinds, which are known without an API server.
func Offline() Kinds { return offline{manifest.BuiltinScopes()} }

type offline struct{ manifest.Scopes }

func (offline) Type(gvk schema.GroupVersionKind) *kinds.Node { return kinds.Builtin(gvk) }
