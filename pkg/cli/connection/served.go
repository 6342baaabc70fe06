package connection

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// ClientFor is the client for the kind of an object, in its namespace if it has
// one.
func (c *Cluster) ClientFor(ctx context.Context, u *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	mapping, err := c.Kinds.Mapping(ctx, u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	client := c.Own.Resource(mapping.Resource)
	if mapping.Namespaced {
		return client.Namespace(u.GetNamespace()), nil
	}
	return client, nil
}

// AwaitServed waits until Applications are served, so that the next command finds
// them.
func (c *Cluster) AwaitServed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.Own.Resource(Applications).Namespace("default").List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return c.Explained(err, "list", "Applications")
		}
		select {
		case <-ctx.Done():
			return errors.New("the API server does not serve Applications yet: look at `kubectl describe crd applications.holdfast.dev`")
		case <-tick.C:
		}
	}
}

// servedTimeout is how long an API server may take to serve a new kind.
const servedTimeout = time.Minute
