package cluster

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/store"
)

// maxSingleWatches is the number of objects of one kind in one namespace that have a watch each. If there are more,
// one watch for all objects of the kind in the namespace is used. An Application changes to it with its next call of
// SetInterest.
const maxSingleWatches = 20

// addNamed adds the watches of shared objects. The caller holds the lock and has called setNamed.
func (w *Watches) addNamed(needs map[watchScope]struct{}, named Named) {
	for resource, keys := range named {
		for _, key := range keys {
			r := namespaceScope(resource, key)
			if len(w.shares[r]) <= maxSingleWatches { // otherwise, the watch of the namespace replaces the single ones
				r.Name = key.Name
			}
			needs[r] = struct{}{}
		}
	}
}

// addRanges adds the watches of ranges. The caller holds the lock.
func (w *Watches) addRanges(needs map[watchScope]struct{}, ranges Ranges) {
	for resource, all := range ranges {
		for _, r := range all {
			needs[watchScope{GroupVersionResource: resource, ObjectRange: r, shared: true}] = struct{}{}
		}
	}
}

// setNamed replaces the shared objects of an Application. The caller holds the lock.
func (w *Watches) setNamed(application types.UID, named Named) {
	w.countNamed(w.named[application], -1)
	w.countNamed(named, 1)
	if w.named[application] = named; len(named) == 0 {
		delete(w.named, application)
	}
}

// countNamed adds a number to the count of each object in shares. The caller holds the lock.
func (w *Watches) countNamed(named Named, by int) {
	for resource, keys := range named {
		for _, key := range keys {
			at := namespaceScope(resource, key)
			if w.shares[at] == nil {
				w.shares[at] = map[string]int{}
			}
			if w.shares[at][key.Name] += by; w.shares[at][key.Name] == 0 {
				delete(w.shares[at], key.Name)
			}
			if len(w.shares[at]) == 0 {
				delete(w.shares, at)
			}
		}
	}
}

// namespaceScope returns the scope of the watch of all shared objects in the namespace of an object.
func namespaceScope(resource schema.GroupVersionResource, key types.NamespacedName) watchScope {
	return watchScope{GroupVersionResource: resource, ObjectRange: ObjectRange{Namespace: key.Namespace}, shared: true}
}

// sharedChanged returns a function that notifies the Applications that share a changed object. It is the callback of
// a Store.
func (w *Watches) sharedChanged(resource watchScope) func(before, after *store.Object) {
	return func(before, after *store.Object) {
		w.notifySharers(resource, cmp.Or(after, before).Key, "")
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
