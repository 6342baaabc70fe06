package manifest

import "k8s.io/apimachinery/pkg/runtime/schema"

// ID identifies a resource. It does not include the version: when a manifest moves to another version of its kind, the
// object must not be deleted and created again (docs/semantics.md, "Which object"). Group is "" for the core group, and
// Namespace for a cluster-scoped object. It is comparable, and used as the key of maps. The zero ID is no resource.
type ID struct {
	Group, Kind, Namespace, Name string
}

// GroupKind returns the group and kind of the resource.
func (id ID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// String returns the ID for users: "Deployment.apps default/echo-demo", "Service default/echo-demo", "Namespace prod".
// Messages, events and the inventory show it. Tables are sorted by it.
func (id ID) String() string {
	if id.Namespace == "" {
		return id.GroupKind().String() + " " + id.Name
	}
	return id.GroupKind().String() + " " + id.Namespace + "/" + id.Name
}
