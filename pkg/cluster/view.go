package cluster

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/writer"
)

// View is the store of one kind as one Application needs it: for all namespaces, or for some. It is a snapshot of the
// watches, not of their objects. It is used during one reconcile.
type View struct {
	// stores contains the stores of owned objects by namespace; "" for all namespaces.
	stores map[string]*store.Store
	// shared contains the stores of shared objects.
	shared []sharedStore
	// pulses lists the health of the watches of all these stores.
	pulses []*watchHealth
	// application is the UID of the Application. Other Applications are notified of its writes.
	application types.UID
	// watches notifies the other Applications that share an object.
	watches *Watches
}

// sharedStore contains shared objects: a single one, all in a namespace, or those that match selectors.
type sharedStore struct {
	watchScope
	// store contains the objects in the scope of the watch.
	store *store.Store
	err   error // the error of its watch
}

// has reports whether the store would contain the object of that name if it exists.
func (s sharedStore) has(key types.NamespacedName) bool { return s.isWhole() && s.keeps(key) }

// mayHave reports whether an object that the controller wrote can belong to the store. Its labels are not
// checked: the watch delivers a deletion if they do not match.
func (s sharedStore) mayHave(key types.NamespacedName) bool {
	return s.keeps(key) && (s.Labels == "" || s.store.Get(key) != nil)
}

// Store returns the objects of a kind for an Application, and the error of a failing watch. If the Application does not
// need the kind, the View is empty and never ready. The View refers to the watches of this moment, so it must not be kept between
// two reconciles. The error concerns owned objects; the View reports the errors of shared objects.
func (w *Watches) Store(application types.UID, resource schema.GroupVersionResource) (*View, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view := &View{stores: map[string]*store.Store{}, application: application, watches: w}
	var err error
	for _, r := range w.needs[application] {
		if r.GroupVersionResource != resource {
			continue
		}
		k := w.kinds[r]
		view.pulses = append(view.pulses, k.pulse)
		if r.shared {
			view.shared = append(view.shared, sharedStore{r, k.store, k.err})
			continue
		}
		view.stores[r.Namespace] = k.store
		// The error of a watch without a list takes precedence, because its objects are unknown.
		if k.err != nil && (err == nil || !k.store.Ready()) {
			err = k.err
		}
	}
	return view, err
}

// StalledSince returns the time since when the watches of these objects have received no list, event or
// bookmark. The error is nil unless that is too long, and always nil during an outage of the API server.
func (v *View) StalledSince(now time.Time) (since time.Time, err error) {
	for _, p := range v.pulses {
		if since, err = p.reportableStall(now); err != nil {
			return since, err
		}
	}
	return since, nil
}

// Ready reports whether the first lists of owned objects are complete. It returns false if the Application does not
// need the kind.
func (v *View) Ready() bool {
	for _, store := range v.stores {
		if !store.Ready() {
			return false
		}
	}
	return len(v.pulses) > 0
}

// Contents calls Store.Contents.
func (v *View) Contents() map[types.NamespacedName]map[string]any {
	contents := map[types.NamespacedName]map[string]any{}
	for _, store := range v.stores {
		maps.Copy(contents, store.Contents(v.application))
	}
	return contents
}

// Ended calls Store.Ended.
func (v *View) Ended() (jobs []*store.Object) {
	for _, store := range v.stores {
		jobs = append(jobs, store.Ended(v.application)...)
	}
	return jobs
}

// Written calls Store.Written. An object can be owned and shared in several stores; one of their records is used.
func (v *View) Written() map[types.NamespacedName]store.WrittenObject {
	all := map[types.NamespacedName]store.WrittenObject{}
	for _, store := range v.all() {
		maps.Copy(all, store.Written(v.application))
	}
	return all
}

// Processed calls Store.Processed.
func (v *View) Processed(key types.NamespacedName, at writer.Activity) {
	for _, store := range v.all() {
		store.Processed(v.application, key, at)
	}
}

// all returns the stores of owned objects, and those of shared ones.
func (v *View) all() []*store.Store {
	all := slices.Collect(maps.Values(v.stores))
	for _, s := range v.shared {
		all = append(all, s.store)
	}
	return all
}

// Wrote calls Store.ApplyWrite, and notifies the other Applications that share the object. The watch event will not
// notify them, because the store already contains the state. A store of owned objects gets an object without tracking
// label only if it contains the object: its watch then delivers a deletion.
func (v *View) Wrote(content map[string]any) {
	u := unstructured.Unstructured{Object: content}
	key := store.Key(&u)
	owner := types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID])
	if store := v.storeFor(key.Namespace); store != nil && (owner != "" || store.Get(key) != nil) {
		if store.ApplyWrite(v.application, content) && owner != "" && owner != v.application {
			v.watches.handler.ObjectChanged(owner)
		}
	}
	for _, s := range v.shared {
		if s.mayHave(key) && s.store.ApplyWrite(v.application, content) {
			v.watches.notifySharers(s.watchScope, key, v.application)
		}
	}
}

// Deleted calls Store.Deleted, and notifies the other Applications that share the object.
func (v *View) Deleted(key types.NamespacedName, uid types.UID) {
	if store := v.storeFor(key.Namespace); store != nil {
		store.Deleted(key, uid)
	}
	for _, s := range v.shared {
		// A store that does not contain the object ignores this.
		if s.keeps(key) {
			s.store.Deleted(key, uid)
			v.watches.notifySharers(s.watchScope, key, v.application)
		}
	}
}

// storeFor returns the store for a namespace, or nil.
func (v *View) storeFor(namespace string) *store.Store {
	if store := v.stores[""]; store != nil {
		return store
	}
	return v.stores[namespace]
}

// Range returns the objects of a range, in no particular order. ready is false before the first list of its watch is
// complete, or if the Application has no such watch. err is the error of the watch.
func (v *View) Range(r ObjectRange) (objects []*store.Object, ready bool, err error) {
	for _, s := range v.shared {
		if s.ObjectRange == r {
			return s.store.All(), s.store.Ready(), s.err
		}
	}
	return nil, false, nil
}

// Shared returns the shared object of that name, or nil. ready is false before the first list of its watch is
// complete, or if the Application has no watch of it. err is the error of the watch.
func (v *View) Shared(key types.NamespacedName) (object *store.Object, ready bool, err error) {
	for _, s := range v.shared {
		if s.has(key) {
			return s.store.Get(key), s.store.Ready(), s.err
		}
	}
	return nil, false, nil
}
