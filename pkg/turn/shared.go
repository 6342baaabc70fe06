package turn

import (
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// observes reports whether nothing of an Application is written, and its objects are looked
// at without our marks, too.
func observes(app *v1alpha1.Application) bool {
	return app.Spec.Mode == v1alpha1.ModeObserve && app.DeletionTimestamp == nil
}

// findUnmarked finds the objects that no watch of marks shows, of an Application that
// observes, and reports whether they are others than before.
func (s *Snapshot) findUnmarked(r Request) bool {
	s.unmarked = nil
	if observes(r.Application) && r.Shared != nil {
		s.unmarked = map[manifest.ID]bool{}
		for id := range s.desired {
			if !s.shared[id] && !plan.IsTrackedBy(r.Application, id, s.Input.Live[id]) {
				s.unmarked[id] = true
			}
		}
	}
	changed := !maps.Equal(r.Memory.unmarked, s.unmarked)
	r.Memory.unmarked = s.unmarked
	return changed
}

// byName are the objects that are watched by their names, in order.
func (s *Snapshot) byName() []manifest.ID {
	ids := maps.Clone(s.unmarked)
	if ids == nil {
		ids = map[manifest.ID]bool{}
	}
	maps.Copy(ids, s.shared)
	return sortedIDs(ids)
}

// named are the shared objects, and those that are only observed, to be watched by their
// names.
func (s *Snapshot) named() cluster.Named {
	named := cluster.Named{}
	for _, id := range s.byName() {
		if kind := s.kinds.of(s.desired[id]); kind != nil && kind.cause() == nil {
			named[kind.Resource] = append(named[kind.Resource], types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
		}
	}
	return named
}

// addNamed adds these objects as their watches show them. A watch has the rights of the
// controller: nothing of an object is told that the Application's ServiceAccount has not
// read itself, for this spec, and anew when it was made anew.
func (s *Snapshot) addNamed(ctx context.Context, r Request) error {
	if r.Shared == nil {
		return nil
	}
	var waiting error
	shown := map[manifest.ID]map[string]any{}
	ids := s.byName()
	for _, id := range ids {
		kind := s.kinds.of(s.desired[id])
		delete(s.memory.unwatched, id)
		delete(s.Input.Live, id)
		if kind == nil || kind.cause() != nil {
			continue
		}
		object, err := r.Shared(s.locationOf(r, id))
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
			continue
		case err != nil && s.Input.Blocked[id] == nil:
			s.Input.Blocked[id] = watchProblem(id.GroupKind(), kind.Resource, err)
			continue
		}
		shown[id] = object
	}
	if waiting != nil {
		return waiting // what is read has managedFields, and is lost with this turn
	}
	for _, id := range ids {
		object, ok := shown[id]
		if !ok {
			continue
		}
		if object = s.permitted(ctx, s.locationOf(r, id), object); object != nil {
			s.Input.Live[id] = object
		}
	}
	return nil
}

// locationOf is where an object is that is watched by its name, and of a kind that is known.
func (s *Snapshot) locationOf(r Request, id manifest.ID) cluster.Location {
	return cluster.Location{ID: id, Mapping: s.kinds.of(s.desired[id]).Mapping, Shared: s.shared[id], ReadOnly: observes(r.Application)}
}

// permitted is an object that the ServiceAccount may read; nil if there is none, or it may
// not.
func (s *Snapshot) permitted(ctx context.Context, at cluster.Location, object map[string]any) map[string]any {
	app := s.Input.Application
	asked := readPermission{generation: app.Generation, account: app.Spec.ServiceAccountName, uid: uidOf(object)}
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
	put(&s.memory.permits, at.ID, asked)
	return read
}

// addHolders adds the other Applications that hold fields of the same objects. The cache may not have what one
// of them has just created, so it is read where the Application begins to hold fields.
func (s *Snapshot) addHolders(ctx context.Context, r Request) {
	app := s.Input.Application
	if r.Holder == nil || r.Application.DeletionTimestamp != nil {
		return
	}
	s.Input.Holders = map[string]*v1alpha1.Application{}
	begins := map[string]bool{}
	for id, live := range s.Input.Live {
		for name := range plan.OtherHolders(app, live) {
			begins[name] = begins[name] || app.Generation != app.Status.ObservedGeneration || !isHeld(app, id, uidOf(live))
		}
	}
	for name, read := range begins {
		if holder, err := r.Holder(ctx, name, read); err == nil {
			s.Input.Holders[name] = holder
		}
	}
}

// longestYield is how long, at most, what nobody holds is left to an older Application. It
// has looked at the object within milliseconds, or cannot.
const longestYield = 5 * time.Second

// addOlder adds the older Applications that may want fields of shared objects.
func (s *Snapshot) addOlder(r Request) {
	before := s.memory.yields
	s.memory.yields = nil
	if r.Older == nil || s.Input.Application.DeletionTimestamp != nil {
		return
	}
	ids := maps.Clone(s.memory.selected)
	if ids == nil {
		ids = map[manifest.ID]struct{}{}
	}
	for id := range s.shared {
		ids[id] = struct{}{}
	}
	for id := range ids {
		metadata, _ := s.Input.Live[id]["metadata"].(map[string]any)
		version, _ := metadata["resourceVersion"].(string)
		if version == "" {
			continue
		}
		older := r.Older(id, version)
		if len(older) == 0 {
			continue
		}
		now := precedenceWait{s.Input.Application.Generation, uidOf(s.Input.Live[id]), s.Input.Now}
		if was, did := before[id]; did && was.generation == now.generation && was.uid == now.uid {
			now.since = was.since
		}
		if s.memory.yields == nil {
			s.memory.yields, s.Input.Precedence = map[manifest.ID]precedenceWait{}, map[manifest.ID][]string{}
		}
		if s.memory.yields[id] = now; s.Input.Now.Sub(now.since) < longestYield {
			s.Input.Precedence[id] = older
		}
	}
}
