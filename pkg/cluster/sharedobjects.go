package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Named contains the names of shared objects. These need not have the tracking label, and need not exist.
type Named map[schema.GroupVersionResource][]types.NamespacedName

// maxSingleWatches is the number of objects of one kind in one namespace that have a watch each. If there are more,
// one watch for all objects of the kind in the namespace is used. An Application changes to it with its next call of
// SetInterest.
const maxSingleWatches = 20

// sharedStore contains shared objects: a single one, all in a namespace, or those that match selectors.
type sharedStore struct {
	watchScope
	// store has the objects in the scope of the watch.
	store *Store
	err   error // the error of its watch
}

// has reports whether the store would contain the object of that name if it exists.
func (s sharedStore) has(key types.NamespacedName) bool { return s.isWhole() && s.keeps(key) }

// addNamed adds the watches of shared objects. The caller holds the lock and has updated w.named.
func (w *Watches) addNamed(needs map[watchScope]struct{}, named Named) {
	for resource, keys := range named {
		for _, key := range keys {
			r := watchScope{GroupVersionResource: resource, ObjectRange: ObjectRange{Namespace: key.Namespace, Name: key.Name}, shared: true}
			if w.namedIn(resource, key.Namespace) > maxSingleWatches {
				// The watch of the whole namespace replaces the single ones.
				r.Name = ""
			}
			needs[r] = struct{}{}
		}
	}
}

// namedIn returns the number of objects of a kind that Applications share in a namespace. The caller holds the lock.
// It visits the shared objects of all Applications.
func (w *Watches) namedIn(resource schema.GroupVersionResource, namespace string) int {
	names := map[string]struct{}{}
	for _, named := range w.named {
		for _, key := range named[resource] {
			if key.Namespace == namespace {
				names[key.Name] = struct{}{}
			}
		}
	}
	return len(names)
}

// sharedChanged returns a function that notifies the Applications that share a changed object. It is the callback of
// a Store.
func (w *Watches) sharedChanged(resource watchScope) func(before, after *Object) {
	return func(before, after *Object) {
		if after == nil {
			after = before
		}
		w.notifySharers(resource, after.Key, "")
	}
}

// notifySharers notifies all Applications but one that share an object and use a watch.
func (w *Watches) notifySharers(resource watchScope, key types.NamespacedName, except types.UID) {
	for _, application := range w.sharers(resource, key) {
		if application != except {
			w.handler.ObjectChanged(application)
		}
	}
}

// sharers returns the Applications that share an object and use a watch. It acquires the lock, so the caller must not
// hold that of a Store.
func (w *Watches) sharers(resource watchScope, key types.NamespacedName) (sharers []types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[resource]
	// The watch has ended, and this is one of its last events.
	if k == nil {
		return nil
	}
	for application := range k.users {
		if slices.Contains(w.named[application][resource.GroupVersionResource], key) ||
			slices.Contains(w.ranges[application][resource.GroupVersionResource], resource.ObjectRange) {
			sharers = append(sharers, application)
		}
	}
	return sharers
}

// Shared returns the shared object of that name, or nil. ready is false before the first list of its watch is
// complete, or if the Application has no watch of it. err is the error of the watch.
func (v *View) Shared(key types.NamespacedName) (object *Object, ready bool, err error) {
	for _, s := range v.shared {
		if s.has(key) {
			return s.store.Get(key), s.store.Ready(), s.err
		}
	}
	return nil, false, nil
}
