package store

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Add handles a watch event. An object can be in the Store already, as the response to a write.
func (s *Store) Add(item any) error { return s.Update(item) }

// Update handles a watch event. It removes managedFields from item. Objects are decoded and compressed without the
// lock, so that readers do not wait.
func (s *Store) Update(item any) error {
	if u, ok := item.(metav1.Object); ok && (s.Get(Key(u)).isVersion(u) || !s.options.Keeps(Key(u))) {
		return nil // most often the watch event of the controller's own write
	}
	o, managed, err := s.objectOf(item)
	if err != nil {
		return err
	}
	sharing := s.watchers.sharing(o.Key)
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced && before != nil {
		s.written.recordEvent(s.watchers.watching(sharing, before), before, o, managed, s.options.Now())
	}
	s.mu.Unlock()
	if replaced {
		s.options.Changed(before, o)
	}
	return nil
}

// isVersion reports whether an object is in the given version. It accepts nil.
func (o *Object) isVersion(u metav1.Object) bool {
	return o != nil && o.UID == u.GetUID() && o.ResourceVersion == u.GetResourceVersion()
}

// Delete handles a watch event: the object was deleted, or no longer matches the selector. A response to an earlier
// write can still arrive: see left. An event about an earlier object of the same name is ignored.
func (s *Store) Delete(item any) error {
	if u, ok := item.(metav1.Object); ok && !s.options.Keeps(Key(u)) {
		return nil
	}
	o, _, err := s.objectOf(item)
	if err != nil {
		return err
	}
	sharing := s.watchers.sharing(o.Key)
	s.mu.Lock()
	// The watch confirms the deletion.
	delete(s.gone, o.UID)
	s.left.put(o.UID, &Object{ResourceVersion: o.ResourceVersion})
	before := s.objects[o.Key]
	// The store can contain a newer object of this name, from the response to a create.
	dropped := before != nil && before.UID == o.UID && !before.Newer(o)
	if dropped {
		s.drop(before)
		s.recordEnded(o)
		s.written.recordEvent(s.watchers.watching(sharing, before), before, o, nil, s.options.Now())
	}
	s.mu.Unlock()
	if dropped {
		s.options.Changed(before, nil)
	}
	return nil
}

// BeginList records the current objects before a list request. The list will contain them or newer states, because it
// is a consistent read. Objects that change until Replace are recognized by their pointer.
func (s *Store) BeginList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.askedGone = maps.Clone(s.objects), maps.Clone(s.gone)
}

// Replace handles a list. The list is authoritative for all objects known at the time of its request, even if its
// versions are older: then the API server was restored from a backup. The controller's later writes are kept, unless
// the list contains newer versions. version is the resourceVersion of the list.
//
// An object that the list lacks is dropped if it was known at the time of the request, or is not newer than the list.
// Options.Changed is called for all differences after the lock is released, and then Options.Synced for the first list.
func (s *Store) Replace(items []any, version string) error {
	all, sharing, err := s.listed(items)
	if err != nil {
		return err
	}
	type change struct{ before, after *Object }
	var changes []change
	s.mu.Lock()
	// It represents the state that the list shows.
	horizon := &Object{ResourceVersion: version}
	for key, o := range s.objects {
		// An object that was written after the list is newer than the list.
		if all[key].Object == nil && (s.asked[key] == o || !o.Newer(horizon)) {
			s.drop(o)
			s.recordEnded(o)
			changes = append(changes, change{o, nil})
		}
	}
	for _, o := range all {
		if before, replaced := s.applyListed(o.Object); replaced {
			// No client has written an object that has changed with its definition.
			if before == nil || before.ResourceVersion != o.ResourceVersion {
				s.written.recordListed(s.watchers.watching(sharing[o.Key], o.Object), o)
			}
			changes = append(changes, change{before, o.Object})
		}
	}
	s.forgetGone(all)
	s.asked, s.askedGone = nil, nil
	// Later lists follow an interruption of the watch.
	first := !s.ready
	s.ready = true
	s.mu.Unlock()
	for _, c := range changes {
		s.options.Changed(c.before, c.after)
	}
	if first {
		s.options.Synced()
	}
	return nil
}

// listed returns the objects of a list that are kept, and the Applications that share them. It needs no lock. sharing
// lists only objects that another client has written since the controller did.
func (s *Store) listed(items []any) (all map[types.NamespacedName]listedObject, sharing map[types.NamespacedName][]types.UID, err error) {
	all, sharing = make(map[types.NamespacedName]listedObject, len(items)), map[types.NamespacedName][]types.UID{}
	for _, item := range items {
		if u, ok := item.(metav1.Object); ok && !s.options.Keeps(Key(u)) {
			continue
		}
		o, err := s.listedOf(item)
		if err != nil {
			return nil, nil, err
		}
		if !s.options.Keeps(o.Key) {
			continue
		}
		all[o.Key] = o
		if watchers := s.watchers.sharing(o.Key); len(watchers) > 0 && len(o.managed) > 0 {
			sharing[o.Key] = watchers
		}
	}
	return all, sharing, nil
}

// Resync does nothing.
func (s *Store) Resync() error { return nil }

// Transform compresses an initial object of a stream as it arrives. Otherwise the reflector would keep all of them
// decoded until the list is complete. It reduces an object that is not stored to its key.
func (s *Store) Transform(item any) (any, error) {
	u, ok := item.(metav1.Object)
	switch {
	case !ok:
		return item, nil
	case !s.options.Keeps(Key(u)):
		return &Object{Key: Key(u)}, nil
	}
	return s.listedOf(u)
}

// encodedObject is an object of a watch event that is decoded only if the Store does not have it already.
type encodedObject interface {
	Decode() (*unstructured.Unstructured, error)
}

// objectOf converts an item of the reflector, which Transform may have converted already. managed contains its
// managedFields; nil for a converted item.
func (s *Store) objectOf(item any) (o *Object, managed []any, err error) {
	switch item := item.(type) {
	case encodedObject:
		u, err := item.Decode()
		if err != nil {
			return nil, nil, err
		}
		return s.objectOf(u)
	case *Object:
		return item, nil, nil
	case listedObject:
		return item.Object, nil, nil
	case *unstructured.Unstructured:
		managed = managedFieldsOf(item.Object) // before object removes them
		o, err = s.object(item)
		return o, managed, err
	}
	return nil, nil, fmt.Errorf("a watch returned a %T", item)
}

// listedOf converts an object of a list.
func (s *Store) listedOf(item any) (listedObject, error) {
	if listed, ok := item.(listedObject); ok {
		return listed, nil
	}
	o, managed, err := s.objectOf(item)
	return listedObject{o, managedFieldsJSON(managed)}, err
}
