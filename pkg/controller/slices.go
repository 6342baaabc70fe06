package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// sliceClient is a client of the API server for the slices, with a cache. It implements reconcile.Slices. The store
// has the content of the slices. known and owners have only the metadata that Collect needs.
//
// Two goroutines update both: the watch, and workers after a write. The store decides which version is newer. known
// is updated later and not atomically with it, so it may briefly list a deleted slice. Deleting such a slice again
// has no effect.
type sliceClient struct {
	client *cluster.Client
	store  *cluster.ApplicationStore
	// synced is closed when the first list of slices is complete.
	synced chan struct{}
	now    func() time.Time
	// onChanged receives the Application of each slice that another client has changed.
	onChanged func(application types.NamespacedName)

	// mu guards the fields below. It is not held while a store or the queue is called.
	mu sync.Mutex
	// known are the slices of each Application, by the key of the Application and of the slice. owners maps each
	// slice to its Application. An Application in known may not exist.
	known  map[types.NamespacedName]map[types.NamespacedName]reconcile.Slice
	owners map[types.NamespacedName]types.NamespacedName
}

func newSliceClient(client *cluster.Client, selection cluster.Selection, now func() time.Time, onChanged func(application types.NamespacedName)) *sliceClient {
	h := &sliceClient{
		client: client, synced: make(chan struct{}), now: now, onChanged: onChanged,
		known: map[types.NamespacedName]map[types.NamespacedName]reconcile.Slice{}, owners: map[types.NamespacedName]types.NamespacedName{},
	}
	h.store = cluster.NewApplicationStore(client, v1alpha1.SliceGroupVersionResource, slicesIn(selection), h.changed, func() { close(h.synced) })
	return h
}

func (h *sliceClient) Of(application types.NamespacedName) []reconcile.Slice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.known[application]), func(a, b reconcile.Slice) int { return strings.Compare(a.Name, b.Name) })
}

// Read requests a slice that the store lacks, because the watch may be behind. It adds the slice to the store.
func (h *sliceClient) Read(ctx context.Context, at types.NamespacedName) ([]byte, error) {
	if object := h.store.Get(at); object != nil {
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

// Create returns a conflict if a slice of this name is being deleted, because it cannot be kept.
func (h *sliceClient) Create(ctx context.Context, s *v1alpha1.ApplicationSlice) error {
	written, err := h.client.CreateSlice(ctx, s, v1alpha1.FieldManager)
	if err != nil {
		return err
	}
	if written.DeletionTimestamp != nil {
		return apierrors.NewConflict(v1alpha1.SliceGroupVersionResource.GroupResource(), s.Name, nil)
	}
	return h.wrote(written)
}

// Delete removes the slice from the store, too, so that it is not deleted again before the watch event.
func (h *sliceClient) Delete(ctx context.Context, s reconcile.Slice) error {
	if err := h.client.DeleteSlice(ctx, s.NamespacedName, s.UID, s.ResourceVersion); err != nil {
		return err
	}
	h.store.Deleted(s.NamespacedName, s.UID)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetSlice(s.NamespacedName)
	return nil
}

// wrote adds a written slice to the store before the watch delivers it, so that the watch event starts no
// reconcile.
func (h *sliceClient) wrote(s *v1alpha1.ApplicationSlice) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	h.store.Wrote(content)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteSlice(s)
	return nil
}

// changed handles an event of the watch of slices. It reports the Application, because it may have waited for the
// slice, or may no longer name it. before is nil for a new slice, after for a deleted one.
func (h *sliceClient) changed(before, after *cluster.Object) {
	var s *v1alpha1.ApplicationSlice
	if after != nil {
		s, _ = cluster.DecodeSlice(after.JSON()) // the store encoded it, so it can be decoded
	}
	key := cmp.Or(after, before).Key
	h.mu.Lock()
	// A deleted slice is known only by its recorded Application.
	application, known := h.owners[key]
	if known {
		h.forgetSlice(key)
	}
	if s != nil {
		application = h.noteSlice(s)
	}
	h.mu.Unlock()
	if known || s != nil {
		h.onChanged(application)
	}
}

// noteSlice records a slice, and when this version of it was first seen. The caller holds the lock.
func (h *sliceClient) noteSlice(s *v1alpha1.ApplicationSlice) (application types.NamespacedName) {
	key := cluster.ObjectKey(s)
	application = types.NamespacedName{Namespace: s.Namespace, Name: s.Application}
	known := reconcile.Slice{
		NamespacedName: key, UID: s.UID, ResourceVersion: s.ResourceVersion,
		Deleting: s.DeletionTimestamp != nil, Since: h.now(),
	}
	if h.known[application] == nil {
		h.known[application] = map[types.NamespacedName]reconcile.Slice{}
	}
	if was, had := h.known[application][key]; had && was.UID == known.UID && was.ResourceVersion == known.ResourceVersion {
		// The event of an own write must not renew the grace period.
		known.Since = was.Since
	}
	h.known[application][key], h.owners[key] = known, application
	return application
}

// forgetSlice removes a deleted slice. The caller holds the lock.
func (h *sliceClient) forgetSlice(key types.NamespacedName) {
	application := h.owners[key]
	delete(h.owners, key)
	if delete(h.known[application], key); len(h.known[application]) == 0 {
		delete(h.known, application)
	}
}

// slicesIn returns a selection of all slices in the same namespaces. Slices have no labels to select them
// by.
func slicesIn(selection cluster.Selection) cluster.Selection {
	return cluster.Selection{Namespaces: selection.Namespaces}
}
