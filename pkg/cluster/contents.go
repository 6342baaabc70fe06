package cluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// object is NewObject, packed beside the manifests of its Application; of an Application,
// beside its own.
func (s *Store) object(u *unstructured.Unstructured) (*Object, error) {
	switch {
	case s.manifests != nil:
		return newObject(u, s.manifests(types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID])))
	case !isApplication(u):
		return newObject(u, nil)
	}
	var own *Manifests
	if before := s.Get(types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}); before != nil {
		own = before.beside
	}
	return newObject(u, manifestsOf(u, own))
}

// Contents are the objects that carry the label of an Application, decoded. What was packed
// beside the manifests that it had before is packed anew: they are kept for nobody else.
func (s *Store) Contents(application types.UID) map[types.NamespacedName]map[string]any {
	var manifests *Manifests
	if s.manifests != nil {
		manifests = s.manifests(application)
	}
	objects, reader := s.Of(application), &Reader{}
	contents := make(map[types.NamespacedName]map[string]any, len(objects))
	for _, o := range objects {
		contents[o.Key] = reader.Content(o)
		if o.beside != nil && o.beside != manifests {
			s.repack(o, reader.JSON(o), manifests)
		}
	}
	return contents
}

// repack packs an object beside other manifests, if it is still the one that is here.
func (s *Store) repack(o *Object, text []byte, manifests *Manifests) {
	anew := *o
	anew.pack(text, manifests)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[o.Key] == o {
		s.set(o, &anew)
	}
	if s.asked[o.Key] == o { // nothing has happened to it since
		s.asked[o.Key] = &anew
	}
}
