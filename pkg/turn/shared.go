package turn

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
)

// named are the shared objects, to be watched by their names.
func (s *Snapshot) named() cluster.Named {
	named := cluster.Named{}
	for id := range s.shared {
		if kind := s.kinds.of(s.desired[id]); kind != nil && kind.cause() == nil {
			named[kind.Resource] = append(named[kind.Resource], types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
		}
	}
	return named
}

// addShared adds the shared objects as their watches show them. A watch has the rights of the
// controller: nothing of an object is told that the Application's ServiceAccount has not
// read itself, for this spec, and anew when it was made anew.
func (s *Snapshot) addShared(ctx context.Context, r Request) error {
	if r.Shared == nil {
		return nil
	}
	var waiting error
	for _, id := range sortedIDs(s.shared) {
		kind := s.kinds.of(s.desired[id])
		delete(s.memory.unwatched, id)
		delete(s.Input.Live, id)
		if kind == nil || kind.cause() != nil {
			continue
		}
		at := cluster.Location{ID: id, Mapping: kind.Mapping, Shared: true}
		object, err := r.Shared(at)
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
			continue
		case err != nil && s.Input.Blocked[id] == nil:
			s.Input.Blocked[id] = watchProblem(id.GroupKind(), kind.Resource, err)
			continue
		}
		if object = s.permitted(ctx, at, object); object != nil {
			s.Input.Live[id] = object
		}
	}
	return waiting
}

// permitted is an object that the ServiceAccount may read; nil if there is none, or it may
// not.
func (s *Snapshot) permitted(ctx context.Context, at cluster.Location, object map[string]any) map[string]any {
	app := s.Input.Application
	asked := permit{generation: app.Generation, account: app.Spec.ServiceAccountName, uid: uidOf(object)}
	known, has := s.memory.permits[at.ID]
	sameSpec := has && known.generation == asked.generation && known.account == asked.account
	if sameSpec && (object == nil || known.uid == asked.uid) {
		return object // or else it was made anew, or the watch lags behind what was read
	}
	if s.Input.Blocked[at.ID] != nil {
		return nil // it is read when it is tried again
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	read, err := s.view.Get(ctx, at)
	switch {
	case apierrors.IsNotFound(err):
		read = nil
	case err != nil:
		delete(s.memory.permits, at.ID)
		s.Input.Blocked[at.ID] = s.memory.failed(at.ID, s.view.Problem(err, at, "get"), s.Input.Now)
		return nil
	}
	delete(s.memory.failures, at.ID)
	asked.uid = uidOf(read)
	s.memory.permits[at.ID] = asked
	return read
}

func uidOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	return uid
}
