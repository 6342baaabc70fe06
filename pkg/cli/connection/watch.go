package connection

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Watch calls visit with each current Application, and after each change, until the user interrupts. gone
// is true for a deleted Application. If the API server ends the watch, Watch lists again, and visit gets
// only new versions. It returns the error of visit, or nil after an interrupt. An empty namespace stands
// for all.
func (c *Client) Watch(ctx context.Context, namespace string, options metav1.ListOptions, visit func(u *unstructured.Unstructured, gone bool) error) error {
	// seen has the last resourceVersion of each Application by UID.
	seen := map[types.UID]string{}
	once := func(u *unstructured.Unstructured, gone bool) error {
		// A new list repeats versions that were already visited.
		if version := u.GetResourceVersion(); !gone && seen[u.GetUID()] == version {
			return nil
		} else if seen[u.GetUID()] = version; gone {
			delete(seen, u.GetUID())
		}
		return visit(u, gone)
	}
	err := WaitFlags{}.Until(ctx, nil, func(ctx context.Context) (bool, error) {
		return false, c.watchOnce(ctx, namespace, options, once)
	})
	if ctx.Err() != nil {
		err = nil // the user ends a watch with an interrupt
	}
	return err
}

// watchOnce lists and watches until the stream ends. It returns nil if the watch must begin again.
func (c *Client) watchOnce(ctx context.Context, namespace string, options metav1.ListOptions, visit func(u *unstructured.Unstructured, gone bool) error) error {
	client := c.Own.Resource(Applications).Namespace(namespace)
	list, err := client.List(ctx, options)
	if apierrors.IsNotFound(err) {
		return ErrNotInstalled
	}
	if err != nil {
		return c.Explained(err, "list", "Applications")
	}
	for i := range list.Items {
		if err := visit(&list.Items[i], false); err != nil {
			return err
		}
	}
	options.ResourceVersion = list.GetResourceVersion()
	stream, err := client.Watch(ctx, options)
	if err != nil {
		return c.Explained(err, "watch", "Applications")
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error:
			if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				return fmt.Errorf("watching: %w", err)
			}
			return nil
		case ok && event.Type != watch.Bookmark:
			if err := visit(u, event.Type == watch.Deleted); err != nil {
				return err
			}
		}
	}
	return nil
}
