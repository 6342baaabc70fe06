package plan

import (
	"cmp"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// isShared reports whether a resource that is not desired was shared, or is shared by the
// spec as it is now: then nothing of it is ever deleted.
func (p *Plan) isShared(id manifest.ID, status v1alpha1.ResourceStatus) bool {
	switch status.Ownership {
	case v1alpha1.OwnershipShare:
		return true
	case v1alpha1.OwnershipOwn:
		return Shared(p.in)[id]
	}
	return p.in.Application.Spec.Ownership == v1alpha1.OwnershipShare || Shared(p.in)[id]
}

// Shared has the objects of which an Application holds fields and that are another owner's,
// as far as its manifests can be read.
func Shared(in Input) map[manifest.ID]bool {
	shared := map[manifest.ID]bool{}
	var manifests []map[string]any
	if in.Source != nil {
		manifests = in.Source.Objects
	}
	for _, item := range in.Application.Spec.Manifest {
		if content, err := manifest.DecodeJSON(item.Raw); err == nil {
			manifests = append(manifests, content)
		}
	}
	for _, content := range manifests {
		if id, ok := Identify(content, in.Application.Namespace, in.Kinds); ok && IsShared(in.Application, manifest.OwnershipIn(content)) {
			shared[id] = true
		}
	}
	return shared
}

// IsShared reports whether an object is shared, of which the manifest says that.
func IsShared(app *v1alpha1.Application, says v1alpha1.Ownership) bool {
	return cmp.Or(says, app.Spec.Ownership) == v1alpha1.OwnershipShare
}
