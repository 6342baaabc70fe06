package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/store"
)

// GetSlice reads an ApplicationSlice.
func (c *Client) GetSlice(ctx context.Context, at types.NamespacedName) (*v1alpha1.ApplicationSlice, error) {
	return decodeSlice(c.get(ctx, v1alpha1.SliceResource, at))
}

// CreateSlice creates an ApplicationSlice and returns the stored one, which can be terminating. If the slice exists
// already, CreateSlice changes an annotation, so that a concurrent deletion of the old version fails. It does not
// compare the content of an existing slice: a reader detects content that does not match the name. manager is the
// field manager.
func (c *Client) CreateSlice(ctx context.Context, s *v1alpha1.ApplicationSlice, manager string) (*v1alpha1.ApplicationSlice, error) {
	created, err := decodeSlice(c.create(ctx, v1alpha1.SliceResource, s, manager))
	if apierrors.IsAlreadyExists(err) {
		return c.patchSlice(ctx, store.Key(s), manager, map[string]any{
			"annotations": map[string]string{v1alpha1.AnnotationNamed: string(uuid.NewUUID())},
		})
	}
	return created, err
}

// DeleteSlice deletes the ApplicationSlice with that UID and version, and removes Holdfast's finalizer. It returns no
// error if the slice is already deleted, and a conflict if the slice has changed. The second request guards its own
// version, so a change in between is a conflict, too.
func (c *Client) DeleteSlice(ctx context.Context, at types.NamespacedName, uid types.UID, version string) error {
	left, err := decodeSlice(rawJSON(c.applications.Delete().Namespace(at.Namespace).Resource(v1alpha1.SliceResource).Name(at.Name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}).Do(ctx)))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || left.UID != uid || !slices.Contains(left.Finalizers, v1alpha1.SliceFinalizer) {
		return err
	}
	others := slices.DeleteFunc(left.Finalizers, func(f string) bool { return f == v1alpha1.SliceFinalizer })
	_, err = c.patchSlice(ctx, at, v1alpha1.FieldManager, map[string]any{"uid": uid, "resourceVersion": left.ResourceVersion, "finalizers": others})
	return notFoundIsNone(err)
}

// patchSlice merges metadata into a slice. uid and resourceVersion in it are preconditions.
func (c *Client) patchSlice(ctx context.Context, at types.NamespacedName, manager string, metadata map[string]any) (*v1alpha1.ApplicationSlice, error) {
	return decodeSlice(c.patch(ctx, v1alpha1.SliceResource, at, types.MergePatchType, map[string]any{"metadata": metadata}, manager))
}

// decodeSlice decodes the result of a request. After a deletion, the response can be a Status, which is a slice without
// UID.
func decodeSlice(raw []byte, err error) (*v1alpha1.ApplicationSlice, error) {
	if err != nil {
		return nil, err
	}
	return DecodeSlice(raw)
}

// DecodeSlice decodes an ApplicationSlice from JSON.
func DecodeSlice(raw []byte) (*v1alpha1.ApplicationSlice, error) {
	s := &v1alpha1.ApplicationSlice{}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("reading an ApplicationSlice: %w", err)
	}
	s.ManagedFields = nil
	return s, nil
}
