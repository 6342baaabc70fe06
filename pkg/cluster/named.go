package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Named are shared objects by their names. They need not carry our label, and may not be
// there.
type Named map[schema.GroupVersionResource][]types.NamespacedName

// mostNamed is how many objects of one kind and namespace are watched one by one. More are
// watched by one watch of that kind there.
const mostNamed = 20

// sharedStore has shared objects: the one of that name, all of a namespace, or those that are
// selected.
type sharedStore struct {
	watched
	store *Store
	err   error // why its watch fails
}

// has reports whether the store would have the object of that name, if there is one.
func (s sharedStore) has(key types.NamespacedName) bool { return s.isWhole() && s.keeps(key) }

// addNamed adds the watches of shared objects. The lock is held, and w.named is up to date.
func (w *Watches) addNamed(needs map[watched]struct{}, named Named) {
	for resource, keys := range named {
		for _, key := range keys {
			r := watched{GroupVersionResource: resource, Range: Range{Namespace: key.Namespace, Name: key.Name}, shared: true}
			if w.namedIn(resource, key.Namespace) > mostNamed {
				r.Name = ""
			}
			needs[r] = struct{}{}
		}
	}
}

// namedIn is how many objects of a kind Applications share in a namespace.
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

// sharedChanged has the Applications told that share an object.
func (w *Watches) sharedChanged(resource watched) func(before, after *Object) {
	return func(before, after *Object) {
		if after == nil {
			after = before
		}
		w.tellSharers(resource, after.Key, "")
	}
}

// tellSharers tells the Applications that share an object and use a watch, but for one.
func (w *Watches) tellSharers(resource watched, key types.NamespacedName, except types.UID) {
	var sharers []types.UID
	w.mu.Lock()
	if k := w.kinds[resource]; k != nil {
		for application := range k.users {
			if application == except {
				continue
			}
			if slices.Contains(w.named[application][resource.GroupVersionResource], key) ||
				slices.Contains(w.ranges[application][resource.GroupVersionResource], resource.Range) {
				sharers = append(sharers, application)
			}
		}
	}
	w.mu.Unlock()
	for _, application := range sharers {
		w.handler.ObjectChanged(application)
	}
}

// Shared is the shared object of that name; nil if there is none. It is not ready before the
// first list of its watch, and err is why that fails.
func (v *View) Shared(key types.NamespacedName) (object *Object, ready bool, err error) {
	for _, s := range v.shared {
		if s.has(key) {
			return s.store.Get(key), s.store.Ready(), s.err
		}
	}
	return nil, false, nil
}
