package connection

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Mapper resolves kinds, and gets the types that the API server publishes for them. It is safe for
// concurrent use.
type Mapper struct {
	*cluster.Mapper

	client *Client
	types  *cluster.PublishedTypes
}

// published returns the type that the API server publishes for a kind. It returns nil if there is none, or
// if it cannot be read: then the built-in type applies. The type of a mapping is already the published one
// if there is no built-in type.
//
//	kind            source of the type
//	built in        the OpenAPI document of the cluster, or else the type in this program
//	custom          the type of its mapping, from its CustomResourceDefinition
//	aggregated      the type of its mapping, from the OpenAPI document
//
// A cluster can be newer than this program, and then has fields that the built-in types lack.
func (m *Mapper) published(ctx context.Context, gvk schema.GroupVersionKind, mapping cluster.Mapping) *kinds.Node {
	if mapping.Type != nil && kinds.Builtin(gvk) == nil {
		return mapping.Type
	}
	return m.types.Type(ctx, gvk)
}

// publishedKinds contains the kinds from files, and the types that an API server publishes. It is a
// plan.Publisher.
type publishedKinds struct {
	intent.Kinds
	types map[schema.GroupVersionKind]*kinds.Node
}

// Published implements plan.Publisher.
func (k publishedKinds) Published(gvk schema.GroupVersionKind) *kinds.Node { return k.types[gvk] }

// KindsOf returns the kinds of objects: those that the objects define, and others from the API server. It
// leaves out kinds that the API server does not serve. The result sends no further requests.
func (m *Mapper) KindsOf(ctx context.Context, objects []manifest.Object) (intent.Kinds, error) {
	known := files.KindsIn(objects)
	all := publishedKinds{known, map[schema.GroupVersionKind]*kinds.Node{}}
	for _, o := range objects {
		if _, asked := all.types[o.GVK()]; asked || known.Defined(o.GVK()) != nil {
			continue
		}
		mapping, unserved, err := m.Resolve(ctx, o.GVK())
		if err != nil {
			return nil, m.client.Explained(err, "get", "the kinds")
		}
		if unserved != nil {
			continue
		}
		all.types[o.GVK()] = m.published(ctx, o.GVK(), mapping)
	}
	return all, nil
}

// nearestVersion returns a suggestion for a group and version that is not served; "" if none is similar.
func (m *Mapper) nearestVersion(gvk schema.GroupVersionKind) string {
	groups, err := m.client.Discovery.ServerGroups()
	if err != nil {
		return ""
	}
	var versions []string
	for i := range groups.Groups {
		for _, version := range groups.Groups[i].Versions {
			versions = append(versions, version.GroupVersion)
		}
	}
	return suggest.DidYouMean(gvk.GroupVersion().String(), versions)
}

// ClientFor returns the client for the kind of an object, in the namespace of the object if the kind is
// namespaced. It returns the error of Mapping unchanged.
func (m *Mapper) ClientFor(ctx context.Context, u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := m.Mapping(ctx, u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return m.client.resource(mapping, u.GetNamespace()), nil
}
