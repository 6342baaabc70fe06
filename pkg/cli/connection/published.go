package connection

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// documents are the OpenAPI documents of an API server, by group and version. One has the
// fields of all its kinds, which may be newer or older than those that are built in.
type documents struct {
	mu  sync.Mutex
	all map[schema.GroupVersion][]byte
}

// published is what the API server publishes of a kind; nil if it does not tell: what is
// built in counts then. A mapping whose type is not built in has it from there already.
func (c *Cluster) published(ctx context.Context, gvk schema.GroupVersionKind, mapping cluster.Mapping) *kinds.Node {
	if mapping.Type != nil && kinds.Builtin(gvk) == nil {
		return mapping.Type
	}
	c.documents.mu.Lock()
	defer c.documents.mu.Unlock()
	document, known := c.documents.all[gvk.GroupVersion()]
	if !known {
		document, _ = c.OpenAPI(ctx, gvk.GroupVersion())
		c.documents.all[gvk.GroupVersion()] = document
	}
	node, err := kinds.FromOpenAPI(document, gvk)
	if err != nil {
		return nil
	}
	return node
}

// publishedKinds is what files say of kinds, and an API server. It is a plan.Publisher.
type publishedKinds struct {
	plan.Kinds
	types map[schema.GroupVersionKind]*kinds.Node
}

func (k publishedKinds) Published(gvk schema.GroupVersionKind) *kinds.Node { return k.types[gvk] }

// KindsOf is what is known of the kinds of objects: those that are defined among them, and
// of the others what the API server says. A kind that it does not serve is not known.
func (c *Cluster) KindsOf(ctx context.Context, objects []manifest.Object) (plan.Kinds, error) {
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
