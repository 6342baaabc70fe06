package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// object returns NewObject, compressed relative to the manifests of its Application, or to its own if it is an
// Application. It removes managedFields from u. The caller must not hold the lock.
func (s *Store) object(u *unstructured.Unstructured) (*Object, error) {
	if s.reduce != nil {
		s.reduce(u.Object)
	}
	switch {
	case s.manifests != nil:
		return newObject(u, s.manifests(types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID])))
	case !isApplication(u):
		return newObject(u, nil)
	}
	// Equal manifests are kept once, also over several versions of an Application.
	var own *Manifests
	if before := s.Get(ObjectKey(u)); before != nil {
		own = before.beside
	}
	return newObject(u, manifestsOf(u, own))
}

// Contents returns the decoded objects with the label of an Application. The caller owns them. It compresses objects
// again that still refer to previous manifests, so that these can be freed.
func (s *Store) Contents(application types.UID) map[types.NamespacedName]map[string]any {
	var manifests *Manifests
	if s.manifests != nil {
		manifests = s.manifests(application)
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
// the lock, so the object can be replaced meanwhile. The content does not change, so changed is not called.
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
