package connection

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

// published returns the type that the API server publishes for a kind. It returns nil if there is none: then
// the built-in type applies. The type of a mapping is already the published one if there is no built-in type.
func (c *Cluster) published(ctx context.Context, gvk schema.GroupVersionKind, mapping cluster.Mapping) *kinds.Node {
	if mapping.Type != nil && kinds.Builtin(gvk) == nil {
		return mapping.Type
	}
	c.documents.mu.Lock()
	defer c.documents.mu.Unlock()
	if node, known := c.documents.types[gvk]; known {
		return node
	}
	document, known := c.documents.all[gvk.GroupVersion()]
	if !known {
		document, _ = c.OpenAPI(ctx, gvk.GroupVersion())
		c.documents.all[gvk.GroupVersion()] = document
	}
	node, err := kinds.FromOpenAPI(document, gvk)
	if err != nil {
		node = nil
	}
	c.documents.types[gvk] = node
	return node
}

// publishedKinds has the kinds from files, and the types that an API server publishes. It is a
// plan.Publisher.
type publishedKinds struct {
	intent.Kinds
	types map[schema.GroupVersionKind]*kinds.Node
}

func (k publishedKinds) Published(gvk schema.GroupVersionKind) *kinds.Node { return k.types[gvk] }

// KindsOf returns the kinds of objects: those that the objects define, and others from the API server. It
// leaves out kinds that the API server does not serve.
func (c *Cluster) KindsOf(ctx context.Context, objects []manifest.Object) (intent.Kinds, error) {
	known := files.KindsIn(objects)
	all := publishedKinds{known, map[schema.GroupVersionKind]*kinds.Node{}}
	for _, o := range objects {
		if _, asked := all.types[o.GVK()]; asked || known.Defined(o.GVK()) != nil {
			continue
		}
		mapping, unserved, err := c.Kinds.Resolve(ctx, o.GVK())
		if err != nil {
			return nil, c.Explained(err, "get", "the kinds")
		}
		if unserved != nil {
			continue
		}
		all.types[o.GVK()] = c.published(ctx, o.GVK(), mapping)
	}
	return all, nil
}
