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
// only new versions. It returns the error of visit, or nil after an interrupt. An empty namespace
// means all.
//
//	get -w       all Applications of a namespace, or those with the labels of -l
//	history -w   the same, or one by its name
func (c *Client) Watch(ctx context.Context, namespace string, options metav1.ListOptions, visit func(u *unstructured.Unstructured, gone bool) error) error {
	// seen records the last resourceVersion of each Application by UID. An Application that is deleted and created again
	// has another UID.
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
		return c.listAndWatch(ctx, namespace, options, "Applications", func(items []unstructured.Unstructured, gone bool) (bool, error) {
			for i := range items {
				if err := once(&items[i], gone); err != nil {
					return false, err
				}
			}
			return false, nil
		})
	})
	if ctx.Err() != nil {
		err = nil // the user ends a watch with an interrupt
	}
	return err
}

// streamError returns the error for an error event of a watch. It returns nil if the next call of listAndWatch can
// continue: the resourceVersion has expired (410), or the connection is lost, for which client-go sends an event with
// the cause ClientWatchDecoding. If the API server cannot be reached, the next list reports that.
func streamError(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.HasStatusCause(err, metav1.CauseType("ClientWatchDecoding")) {
		return nil
	}
	return fmt.Errorf("watching: %w", err)
}

// listAndWatch calls visit with the listed Applications, and then with the Application of each event, until visit is
// done or returns an error. gone is true for a deleted Application. If the stream ends, listAndWatch returns false and
// no error: the caller must call it again. what names the Applications in errors.
func (c *Client) listAndWatch(
	ctx context.Context, namespace string, options metav1.ListOptions, what string, visit func(items []unstructured.Unstructured, gone bool) (bool, error),
) (done bool, err error) {
	client := c.Own.Resource(Applications).Namespace(namespace)
	list, err := client.List(ctx, options)
	if apierrors.IsNotFound(err) {
		return false, ErrNotInstalled
	}
	if err != nil {
		return false, c.Explained(err, "list", what)
	}
	if done, err = visit(list.Items, false); done || err != nil {
		return done, err
	}
	// The watch continues where the list ends, so no change is missed.
	options.ResourceVersion = list.GetResourceVersion()
	stream, err := client.Watch(ctx, options)
	if err != nil {
		return false, c.Explained(err, "watch", what)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Error:
			return false, streamError(apierrors.FromObject(event.Object))
		case ok && event.Type != watch.Bookmark:
			if done, err := visit([]unstructured.Unstructured{*u}, event.Type == watch.Deleted); done || err != nil {
				return done, err
			}
		}
	}
	return false, nil
}
