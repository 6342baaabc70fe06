package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/kinds"
)

// PublishedTypes reads the types that an API server publishes. A document defines the fields of all kinds in it, which
// may be newer or older than the built-in types. It is safe for concurrent use.
type PublishedTypes struct {
	client *Client
	// mu guards documents and types. It is held during a download, so that each document is read once.
	mu sync.Mutex
	// documents is a cache of the OpenAPI documents, by group and version; nil for one that could not be read.
	documents map[schema.GroupVersion][]byte
	// types contains the types that were read from the documents; nil for a kind without one.
	types map[schema.GroupVersionKind]*kinds.Node
}

// NewPublishedTypes returns an empty cache.
func NewPublishedTypes(client *Client) *PublishedTypes {
	return &PublishedTypes{client: client, documents: map[schema.GroupVersion][]byte{}, types: map[schema.GroupVersionKind]*kinds.Node{}}
}

// Type returns the type that the API server publishes for a kind. It returns nil if there is none, or if it cannot be
// read.
func (p *PublishedTypes) Type(ctx context.Context, gvk schema.GroupVersionKind) *kinds.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	if node, read := p.types[gvk]; read {
		return node
	}
	document, read := p.documents[gvk.GroupVersion()]
	if !read {
		document, _ = p.client.OpenAPI(ctx, gvk.GroupVersion())
		p.documents[gvk.GroupVersion()] = document
	}
	p.types[gvk], _ = kinds.FromOpenAPI(document, gvk)
	return p.types[gvk]
}

var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// typeOf returns the typed schema of a kind: from the table for built-in kinds, from the definition for custom ones,
// and from the OpenAPI document for aggregated ones. It returns nil and no error if there is certainly no schema. The
// error is temporary: without the schema, a list with keys would be compared by position.
func typeOf(ctx context.Context, c *Client, gvk schema.GroupVersionKind, mapping Mapping) (*kinds.Node, error) {
	if node := kinds.Builtin(gvk); node != nil || builtinGroup(gvk.Group) {
		return node, nil
	}
	// The name of a CustomResourceDefinition follows from its resource and group.
	name := mapping.Resource.Resource + "." + gvk.Group
	crd, err := c.Own.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return kinds.FromCRD(crd.Object, gvk), nil
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return nil, fmt.Errorf("reading the definition of %s: %w", gvk.Kind, err)
	}
	raw, err := c.OpenAPI(ctx, gvk.GroupVersion())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", gvk.Kind, err)
	}
	node, err := kinds.FromOpenAPI(raw, gvk)
	if err != nil {
		return nil, nil //nolint:nilerr // without a typed schema lists are paired by position
	}
	return node, nil
}

// OpenAPI returns the OpenAPI document of a group and version.
func (c *Client) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	return c.Discovery.RESTClient().Get().AbsPath("/openapi/v3"+apiPath(gv)).SetHeader("Accept", "application/json").Do(ctx).Raw()
}

// builtinGroup reports whether a group belongs to Kubernetes itself. The table contains all of its kinds
// that have lists.
func builtinGroup(group string) bool {
	return !strings.Contains(group, ".") ||
		strings.HasSuffix(group, ".k8s.io") && slices.Contains(builtinGroups, group)
}

var builtinGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
	"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io",
	"node.k8s.io", "policy.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io",
	"scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}
