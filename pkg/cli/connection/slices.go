package connection

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/slice"
)

// slicesIn returns a function that reads slices of a namespace with the rights of the user. It returns
// slice.Unavailable for a slice that does not exist.
func (c *Client) slicesIn(ctx context.Context, namespace string) slice.Get {
	return func(name string) ([]byte, error) {
		s, err := c.GetSlice(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		if apierrors.IsNotFound(err) {
			return nil, &slice.Unavailable{Name: name}
		}
		if err != nil {
			return nil, c.Explained(err, "get", "ApplicationSlice "+namespace+"/"+name)
		}
		return s.Data, nil
	}
}

// OlderHistory returns the history entries of an Application that are in slices, newest first; nil if
// there are none.
func (c *Client) OlderHistory(ctx context.Context, app *v1alpha1.Application) ([]v1alpha1.HistoryEntry, error) {
	older, err := slice.OlderHistory(app, c.slicesIn(ctx, app.Namespace))
	if err != nil {
		return nil, fmt.Errorf("the older history of the Application %s/%s is not shown: %w", app.Namespace, app.Name, err)
	}
	return older, nil
}

// JoinObject replaces the references to slices in a stored Application by their content. It changes u.
func (c *Client) JoinObject(ctx context.Context, u *unstructured.Unstructured) error {
	return files.JoinObject(u.Object, c.slicesIn(ctx, u.GetNamespace()))
}

// putSlices writes slices before the Application that names them. If a slice is being deleted, it waits for the end
// of that. It does not wait if the stored Application names the slice, because the controller then keeps it. A slice
// has a digest in its name, so an existing one has the same content. The controller deletes a slice that no
// Application names, perhaps at the same moment.
func (c *submitter) putSlices(ctx context.Context, parts []v1alpha1.ApplicationSlice, stored *unstructured.Unstructured) error {
	var named []string
	if stored != nil && len(parts) > 0 {
		app, err := DecodeApplication(stored)
		if err != nil {
			return err
		}
		named = slice.Names(app)
	}
	for i := range parts {
		if err := c.putSlice(ctx, &parts[i], slices.Contains(named, parts[i].Name)); err != nil {
			return c.Explained(err, "create", "ApplicationSlice "+parts[i].Namespace+"/"+parts[i].Name)
		}
	}
	return nil
}

// putSlice writes one slice. If the caller knows that the slice is kept, its deletion does not matter. It gives up
// after 30 seconds. CreateSlice changes an annotation of an existing slice, so that a concurrent deletion of it fails.
func (c *submitter) putSlice(ctx context.Context, part *v1alpha1.ApplicationSlice, stays bool) error {
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		written, err := c.CreateSlice(ctx, part, fieldManager)
		return err == nil && (written.DeletionTimestamp == nil || stays), err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the existing slice is being deleted, which takes longer than 30s: does the controller run? %w", err)
	}
	return err
}
