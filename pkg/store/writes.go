package store

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ApplyWrite adds the response to a write of an Application. The watch does not report it, so the write is recorded
// here for the other Applications that watch the object. It reports whether the store has changed. It does not change
// content. Options.Changed is called only if the object moves to another Application.
//
// The watch event of the write can be faster. Then the event has stored this version, and Changed was called for it.
func (s *Store) ApplyWrite(application types.UID, content map[string]any) bool {
	managed := managedFieldsOf(content) // before they are dropped
	o, err := s.object(&unstructured.Unstructured{Object: maps.Clone(content)})
	if err != nil {
		return false
	}
	watchers := s.watchers.sharing(o.Key)
	s.mu.Lock()
	before, replaced := s.put(o)
	if replaced {
		s.written.forget(application, o.Key)
		if before != nil {
			others := slices.DeleteFunc(s.watchers.watching(watchers, before), func(uid types.UID) bool { return uid == application })
			s.written.recordEvent(others, before, o, managed, s.options.Now())
		}
	}
	s.mu.Unlock()
	if replaced && before != nil && before.Application != o.Application {
		s.options.Changed(before, o)
	}
	return replaced
}

// Deleted records that the controller has deleted the object with that UID. If the object is not stored, the watch
// was faster and does not report it again. Options.Changed is not called.
func (s *Store) Deleted(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[key]; o != nil && o.UID == uid {
		s.gone[uid] = struct{}{}
		s.drop(o)
	}
}
