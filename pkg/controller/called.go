package controller

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/store"
)

// mostCalled limits the number of Applications in a callbackCache.
const mostCalled = 1024

// callbackCache stores the Applications of recent callbacks, so that a callback costs the same whether its Application
// is large, small or missing. When it is full, it is emptied. The handlers of callbacks use it concurrently.
type callbackCache struct {
	// mu guards apps. It is held while an Application is decoded, so that concurrent callbacks decode it only once.
	mu sync.Mutex
	// apps contains only the metadata and the hooks of each Application. They must not be changed.
	apps map[types.NamespacedName]*v1alpha1.Application
}

// applicationOf returns the metadata and the hooks of an Application in this version. It returns nil if the
// Application cannot be decoded.
func (s *callbackCache) applicationOf(object *store.Object) *v1alpha1.Application {
	s.mu.Lock()
	defer s.mu.Unlock()
	app := s.apps[object.Key]
	if app != nil && app.UID == object.UID && app.ResourceVersion == object.ResourceVersion {
		return app
	}
	whole, err := cluster.DecodeApplication(object.JSON())
	if err != nil {
		return nil
	}
	app = &v1alpha1.Application{TypeMeta: whole.TypeMeta, ObjectMeta: whole.ObjectMeta}
	app.Spec.Hooks, app.Status.Hooks = whole.Spec.Hooks, whole.Status.Hooks
	// It is not worth evicting single entries: a callback costs one decoding.
	if len(s.apps) >= mostCalled || s.apps == nil {
		s.apps = map[types.NamespacedName]*v1alpha1.Application{}
	}
	s.apps[object.Key] = app
	return app
}
