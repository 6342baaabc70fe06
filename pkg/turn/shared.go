package turn

import (
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// observes reports whether an Application is in observe-only mode: its objects are not written, and are
// compared even without tracking metadata.
func observes(app *v1alpha1.Application) bool {
	return app.Spec.Mode == v1alpha1.ModeObserve && app.DeletionTimestamp == nil
}

// findUnmarked finds the objects of an observe-only Application that no watch of tracking labels shows, and
// reports whether they have changed.
func (s *Snapshot) findUnmarked(r Request) bool {
	s.unmarked = nil
	if observes(r.Application) && r.Shared != nil {
		s.unmarked = map[manifest.ID]bool{}
		for id := range s.desired {
			if !s.shared[id] && !claim.IsTrackedBy(r.Application, id, s.Input.Live[id]) {
				s.unmarked[id] = true
			}
		}
	}
	changed := !maps.Equal(r.Memory.unmarked, s.unmarked)
	r.Memory.unmarked = s.unmarked
	return changed
}

// byName returns the objects that are watched by name, sorted.
func (s *Snapshot) byName() []manifest.ID {
	ids := maps.Clone(s.unmarked)
	if ids == nil {
		ids = map[manifest.ID]bool{}
	}
	maps.Copy(ids, s.shared)
	return sortedIDs(ids)
}

// named returns the shared and observe-only objects to watch by name.
func (s *Snapshot) named() cluster.Named {
	named := cluster.Named{}
	for _, id := range s.byName() {
		if kind := s.kinds.find(s.desired[id]); kind != nil && kind.cause() == nil {
			named[kind.Resource] = append(named[kind.Resource], types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
		}
	}
	return named
}

// addNamed adds the objects that are watched by name. A watch has the rights of the controller. So an object
// is added only after the Application's ServiceAccount has read it, once for each generation of the spec and
// each UID.
func (s *Snapshot) addNamed(ctx context.Context, r Request) error {
	if r.Shared == nil {
		return nil
	}
	var waiting error
	shown := map[manifest.ID]map[string]any{}
	ids := s.byName()
	for _, id := range ids {
		kind := s.kinds.find(s.desired[id])
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
		return waiting // objects read now, with managedFields, would be lost
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

// locationOf returns the location of an object that is watched by name and whose kind is known.
func (s *Snapshot) locationOf(r Request, id manifest.ID) cluster.Location {
	return cluster.Location{ID: id, Mapping: s.kinds.find(s.desired[id]).Mapping, Shared: s.shared[id], ReadOnly: observes(r.Application)}
}

// permitted returns the object if the ServiceAccount may read it; nil if it does not exist or may not be
// read.
func (s *Snapshot) permitted(ctx context.Context, at cluster.Location, object map[string]any) map[string]any {
	app := s.Input.Application
	asked := readPermission{generation: app.Generation, account: app.Spec.ServiceAccountName, uid: uidOf(object)}
	known, has := s.memory.permits[at.ID]
	sameSpec := has && known.generation == asked.generation && known.account == asked.account
	if sameSpec && (object == nil || known.uid == asked.uid) {
		return object // otherwise it was created again, or the watch is behind the last read
	}
	if s.Input.Blocked[at.ID] != nil {
		return nil // it is read at the next retry
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

// addHolders adds the other Applications that objects name as holders or that the status waits for. The cache may
// lack an Application that was just created or that this controller does not select. So they are read from the API
// server when this Application begins to hold fields, and before a claim is ignored.
func (s *Snapshot) addHolders(ctx context.Context, r Request) {
	app := s.Input.Application
	if r.Holder == nil {
		return
	}
	s.Input.Holders = map[string]*v1alpha1.Application{}
	unsure := map[string]bool{}
	add := func(id manifest.ID, name string, uid types.UID, begins bool) {
		holder, known := s.Input.Holders[name]
		if !known {
			holder, _ = r.Holder(ctx, name, false)
			s.Input.Holders[name] = holder
		}
		unsure[name] = unsure[name] || begins || plan.HoldsNothing(holder, uid, id)
	}
	isNew := app.Generation != app.Status.ObservedGeneration && app.DeletionTimestamp == nil
	for id, live := range s.Input.Live {
		for name, uid := range claim.OtherHolders(app, live) {
			add(id, name, uid, isNew || !isHeld(app, id, uidOf(live)))
		}
	}
	for _, status := range app.Status.Resources {
		for _, holder := range status.WaitsFor {
			add(manifest.IDFromReference(status.ResourceReference), holder.Application, holder.UID, false)
		}
	}
	for name, holder := range s.Input.Holders {
		if unsure[name] {
			s.readHolder(ctx, r, name, holder)
		}
	}
}

// readHolder reads a holder from the API server, if it is in the same namespace. It removes a holder that it cannot
// read, because the holder may exist.
func (s *Snapshot) readHolder(ctx context.Context, r Request, name string, cached *v1alpha1.Application) {
	if !claim.IsInNamespaceOf(s.Input.Application, name) {
		if cached == nil {
			delete(s.Input.Holders, name)
		}
		return
	}
	read, err := r.Holder(ctx, name, true)
	if err != nil {
		delete(s.Input.Holders, name)
		return
	}
	s.Input.Holders[name] = read
}

// longestYield is the maximum time for which unclaimed fields are left to an older Application. That
// Application decides about the object within milliseconds, or cannot.
const longestYield = 5 * time.Second

// addOlder adds the older Applications that may claim fields of shared objects.
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
