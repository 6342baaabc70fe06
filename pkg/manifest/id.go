package manifest

import "k8s.io/apimachinery/pkg/runtime/schema"

// ID identifies a resource. The version is not part of it: moving a manifest
// to another served version of its kind must not delete and create
// (docs/semantics.md, "Which object").
type ID struct {
	Group, Kind, Namespace, Name string
}

// GroupKind is the group and kind of the resource.
func (id ID) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: id.Group, Kind: id.Kind}
}

// String is the ID as people read it: "Deployment.apps default/echo-demo",
// "Service default/echo-demo", "Namespace prod".
func (id ID) String() string {
	if id.Namespace == "" {
		return id.GroupKind().String() + " " + id.Name
	}
	return id.GroupKind().String() + " " + id.Namespace + "/" + id.Name
}
