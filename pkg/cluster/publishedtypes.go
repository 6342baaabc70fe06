package cluster

import (
	"context"
	"sync"

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
