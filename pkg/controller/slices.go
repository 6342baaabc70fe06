package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/turn"
)

// slicesHome is a client of the API server for the slices. It implements turn.Slices.
type slicesHome struct{ *Controller }

func (h slicesHome) Of(application types.NamespacedName) []turn.Slice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.slicesOf[application]), func(a, b turn.Slice) int { return strings.Compare(a.Name, b.Name) })
}

func (h slicesHome) Read(ctx context.Context, at types.NamespacedName) ([]byte, error) {
	if object := h.slices.Get(at); object != nil {
		s, err := cluster.DecodeSlice(object.JSON())
		if err != nil {
			return nil, err
		}
		return s.Data, nil
	}
	s, err := h.client.GetSlice(ctx, at)
	if err != nil {
		return nil, err
	}
	return s.Data, h.wrote(s)
}

func (h slicesHome) Create(ctx context.Context, s *v1alpha1.ApplicationSlice) error {
	written, err := h.client.CreateSlice(ctx, s, v1alpha1.FieldManager)
	if err != nil {
		return err
	}
	if written.DeletionTimestamp != nil {
		return apierrors.NewConflict(v1alpha1.SliceGroupVersionResource.GroupResource(), s.Name, nil)
	}
	return h.wrote(written)
}

func (h slicesHome) Delete(ctx context.Context, s turn.Slice) error {
	if err := h.client.DeleteSlice(ctx, s.NamespacedName, s.UID, s.ResourceVersion); err != nil {
		return err
	}
	h.slices.Deleted(s.NamespacedName, s.UID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetSlice(s.NamespacedName)
	return nil
}

// wrote adds a written slice to the store before the watch delivers it, so that the watch event starts no
// reconcile.
func (h slicesHome) wrote(s *v1alpha1.ApplicationSlice) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	h.slices.Wrote(content)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteSlice(s)
	return nil
}

// sliceChanged handles an event of the watch of slices. It queues the Application, because it may have
// waited for the slice, or may no longer name it.
func (c *Controller) sliceChanged(before, after *cluster.Object) {
	var s *v1alpha1.ApplicationSlice
	if after != nil {
		s, _ = cluster.DecodeSlice(after.JSON()) // the store encoded it, so it can be decoded
	}
	c.mu.Lock()
	application, known := c.sliceOwners[keyOfSlice(before, after)]
	if known {
		c.forgetSlice(keyOfSlice(before, after))
	}
	if s != nil {
		application = c.noteSlice(s)
	}
	c.mu.Unlock()
	if known || s != nil {
		c.queue.Add(application)
		c.profiles.ApplicationChanged()
	}
}

func keyOfSlice(before, after *cluster.Object) types.NamespacedName {
	if after != nil {
		return after.Key
	}
	return before.Key
}

// noteSlice records a slice, and when this version of it was first seen. The caller holds the lock.
func (c *Controller) noteSlice(s *v1alpha1.ApplicationSlice) (application types.NamespacedName) {
	key := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	application = types.NamespacedName{Namespace: s.Namespace, Name: s.Application}
	known := turn.Slice{
		NamespacedName: key, UID: s.UID, ResourceVersion: s.ResourceVersion,
		Deleting: s.DeletionTimestamp != nil, Since: c.options.Now(),
	}
	if c.slicesOf[application] == nil {
		c.slicesOf[application] = map[types.NamespacedName]turn.Slice{}
	}
	if was, had := c.slicesOf[application][key]; had && was.UID == known.UID && was.ResourceVersion == known.ResourceVersion {
		known.Since = was.Since
	}
	c.slicesOf[application][key], c.sliceOwners[key] = known, application
	return application
}

// forgetSlice removes a deleted slice. The caller holds the lock.
func (c *Controller) forgetSlice(key types.NamespacedName) {
	application := c.sliceOwners[key]
	delete(c.sliceOwners, key)
	if delete(c.slicesOf[application], key); len(c.slicesOf[application]) == 0 {
		delete(c.slicesOf, application)
	}
}
