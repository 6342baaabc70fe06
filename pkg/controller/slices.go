package controller

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
)

// sliceClient is a client of the API server for the slices, with a cache. It implements reconcile.Slices. The store
// keeps the content of the slices that an Application names. Of others it keeps only the metadata, because anyone who
// may create slices could fill the memory. known and owners contain the metadata that Collect needs.
//
// Two goroutines update both: the watch, and workers after a write. The store decides which version is newer. known
// is updated later and not atomically with it, so it may briefly list a deleted slice. Deleting such a slice again
// has no effect.
type sliceClient struct {
	client *cluster.Client
	store  *cluster.ApplicationStore
	// applications contain the names of slices. Run the store of slices after their first list.
	applications *cluster.ApplicationStore
	// synced is closed when the first list of slices is complete.
	synced chan struct{}
	now    func() time.Time
	// onChanged receives the Application of each slice that another client has changed. onFilled is called when the
	// content of a slice was read.
	onChanged func(application types.NamespacedName)
	onFilled  func()

	// mu guards the fields below. It is not held while a store or the queue is called.
	mu sync.Mutex
	// known are the slices of each Application, by the key of the Application and of the slice. owners maps each
	// slice to its Application. An Application in known may not exist.
	known  map[types.NamespacedName]map[types.NamespacedName]reconcile.Slice
	owners map[types.NamespacedName]types.NamespacedName
	// used are the slices that this process has written or read, until they are deleted. The Application may not
	// name them yet.
	used map[types.NamespacedName]struct{}
}

func newSliceClient(client *cluster.Client, applications *cluster.ApplicationStore, selection cluster.Selection, now func() time.Time, onChanged func(application types.NamespacedName), onFilled func()) *sliceClient {
	h := &sliceClient{
		client: client, applications: applications, synced: make(chan struct{}), now: now, onChanged: onChanged, onFilled: onFilled,
		known: map[types.NamespacedName]map[types.NamespacedName]reconcile.Slice{}, owners: map[types.NamespacedName]types.NamespacedName{},
		used: map[types.NamespacedName]struct{}{},
	}
	h.store = cluster.NewApplicationStore(client, v1alpha1.SliceGroupVersionResource, slicesIn(selection), h.changed, func() { close(h.synced) })
	h.store.Reduce = h.reduce
	return h
}

// reduce removes the data of a slice that its Application does not name. A name is a digest, so no other text of the
// Application contains it by accident.
func (h *sliceClient) reduce(content map[string]any) {
	u := unstructured.Unstructured{Object: content}
	key := store.Key(&u)
	h.mu.Lock()
	_, isUsed := h.used[key]
	h.mu.Unlock()
	if isUsed {
		return
	}
	name, _ := content["application"].(string)
	application := h.applications.Get(types.NamespacedName{Namespace: key.Namespace, Name: name})
	if application == nil || !bytes.Contains(application.JSON(), []byte(key.Name)) {
		delete(content, "data")
	}
}

func (h *sliceClient) Of(application types.NamespacedName) []reconcile.Slice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.known[application]), func(a, b reconcile.Slice) int { return strings.Compare(a.Name, b.Name) })
}

// Read requests a slice that the store lacks, because the watch may be behind, or no Application named it before. It
// adds the slice to the store.
func (h *sliceClient) Read(ctx context.Context, at types.NamespacedName) ([]byte, error) {
	if object := h.store.Get(at); object != nil {
		s, err := cluster.DecodeSlice(object.JSON())
		if err != nil || s.Data != nil {
			return s.Data, err
		}
	}
	s, err := h.client.GetSlice(ctx, at)
	if err != nil {
		return nil, err
	}
	h.onFilled()
	return s.Data, h.use(s)
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
	return h.use(written)
}

// Delete removes the slice from the store, too, so that it is not deleted again before the watch event.
func (h *sliceClient) Delete(ctx context.Context, s reconcile.Slice) error {
	if err := h.client.DeleteSlice(ctx, s.NamespacedName, s.UID, s.ResourceVersion); err != nil {
		return err
	}
	h.store.Deleted(s.NamespacedName, s.UID)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.used, s.NamespacedName)
	h.forgetSlice(s.NamespacedName)
	return nil
}

// use adds a slice that was written or read to the store with its content. After a write, the watch event starts no
// reconcile; if it was faster, it has added the slice without its content.
func (h *sliceClient) use(s *v1alpha1.ApplicationSlice) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.used[store.Key(s)] = struct{}{}
	h.mu.Unlock()
	h.store.Fill(content)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteSlice(s)
	return nil
}

// changed handles an event of the watch of slices. It reports the Application, because it may have waited for the
// slice, or may no longer name it. before is nil for a new slice, after for a deleted one.
func (h *sliceClient) changed(before, after *store.Object) {
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
	} else {
		delete(h.used, key)
	}
	h.mu.Unlock()
	if known || s != nil {
		h.onChanged(application)
	}
}

// noteSlice records a slice, and when this version of it was first seen. The caller holds the lock.
func (h *sliceClient) noteSlice(s *v1alpha1.ApplicationSlice) (application types.NamespacedName) {
	key := store.Key(s)
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
