package intent

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Input is an Application with the data that its manifests and schemas depend on. Slices must be merged into the
// Application before: see IncompleteProblem. It is only read. Functions of this package return the same result for the
// same Input, except for errors of hooks.
type Input struct {
	Application *v1alpha1.Application
	// Live contains the live objects that are known. Selections, references and rules depend on them. A missing object
	// counts as one that does not exist. A nil map is an empty cluster, as in a preview of a file.
	Live  map[manifest.ID]map[string]any
	Kinds Kinds
	// Source contains the manifests that spec.tosca or spec.csar was translated into; nil for an Application without a
	// template, or if nothing here can translate it.
	Source *Source
	// Profiles are the HoldProfiles of the cluster; empty without a cluster. Profiles change only default schemas, and
	// never the schema of a shared object.
	Profiles Profiles
	// Render needs Hooks, and other functions ignore them. Package plan adds its own listeners.
	Hooks *hooks.Hooks
}

// Kinds is a source of scopes and typed schemas of kinds: the built-in table, or an API server. Package cluster
// implements it with discovery. The result for a kind can change between two calls for an Application, so callers pass
// a snapshot.
type Kinds interface {
	manifest.Scopes
	// Type returns the typed schema of a kind, or nil.
	Type(gvk schema.GroupVersionKind) *kinds.Node
}

// Offline returns the built-in kinds, which are known without an API server. Custom kinds are unknown: they count as
// namespaced, and have no type.
func Offline() Kinds { return offline{manifest.BuiltinScopes()} }

// offline implements Kinds with the built-in tables.
type offline struct{ manifest.Scopes }

// Type implements Kinds. It returns nil for a custom kind.
func (offline) Type(gvk schema.GroupVersionKind) *kinds.Node { return kinds.Builtin(gvk) }
