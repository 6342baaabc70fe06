package store

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// object returns NewObject, compressed relative to the manifests of its Application, or to its own if it is an
// Application. It removes managedFields from u. The caller must not hold the lock.
func (s *Store) object(u *unstructured.Unstructured) (*Object, error) {
	if s.options.Reduce != nil {
		s.options.Reduce(u.Object)
	}
	switch {
	case s.options.Manifests != nil:
		return newObject(u, s.options.Manifests(types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID])))
	case !isApplication(u):
		return newObject(u, nil)
	}
	// Equal manifests are kept once, also over several versions of an Application.
	var own *Manifests
	if before := s.Get(Key(u)); before != nil {
		own = before.beside
	}
	return newObject(u, manifestsOf(u, own))
}

// Contents returns the decoded objects with the label of an Application. The caller owns them. It compresses objects
// again that still refer to previous manifests, so that these can be freed.
func (s *Store) Contents(application types.UID) map[types.NamespacedName]map[string]any {
	var manifests *Manifests
	if s.options.Manifests != nil {
		manifests = s.options.Manifests(application)
	}
	objects, reader := s.ForApplication(application), &Reader{}
	contents := make(map[types.NamespacedName]map[string]any, len(objects))
	for _, o := range objects {
		contents[o.Key] = reader.Content(o)
		if o.beside != nil && o.beside != manifests {
			s.repack(o, reader.JSON(o), manifests)
		}
	}
	return contents
}

// repack compresses an object relative to other manifests, unless it was replaced in the store. It compresses without
// the lock, so the object can be replaced meanwhile. The content does not change, so Changed is not called.
func (s *Store) repack(o *Object, text []byte, manifests *Manifests) {
	anew := *o
	anew.pack(text, manifests)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[o.Key] == o {
		s.set(o, &anew)
	}
	if s.asked[o.Key] == o { // the object has not changed since the list began
		s.asked[o.Key] = &anew
	}
}

// Fill stores an object with its content: in place of the same version, which was reduced, or like a write.
func (s *Store) Fill(content map[string]any) {
	o, err := s.object(&unstructured.Unstructured{Object: content})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.objects[o.Key]
	if before == nil || before.UID != o.UID || before.ResourceVersion != o.ResourceVersion {
		s.put(o)
		return
	}
	s.set(before, o)
	if s.asked[o.Key] == before { // the object has not changed since the list began
		s.asked[o.Key] = o
	}
}
