package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
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

// findUnmarked finds the objects of an observe-only Application that no watch of tracking labels shows, and reports
// whether they have changed since the last reconciliation. Then the watches must be set again. It runs after
// addMarked, because a label can appear or disappear.
func (g *gatherer) findUnmarked() bool {
	g.unmarked = nil
	if observes(g.request.Application) && g.request.Shared != nil {
		g.unmarked = map[manifest.ID]bool{}
		for id := range g.desired {
			if !g.shared[id] && !claim.IsTrackedBy(g.request.Application, id, g.Input.Live[id]) {
				g.unmarked[id] = true
			}
		}
	}
	changed := !maps.Equal(g.request.Memory.unmarked, g.unmarked)
	g.request.Memory.unmarked = g.unmarked
	return changed
}

// byName returns the objects that are watched by name, sorted.
func (g *gatherer) byName() []manifest.ID {
	ids := map[manifest.ID]bool{}
	maps.Copy(ids, g.unmarked)
	maps.Copy(ids, g.shared)
	return manifest.SortedIDs(ids)
}

// named returns the shared and observe-only objects to watch by name.
func (g *gatherer) named() cluster.Named {
	named := cluster.Named{}
	for _, id := range g.byName() {
		if kind := g.kinds.find(g.desired[id]); kind != nil && kind.cause() == nil {
			named[kind.Resource] = append(named[kind.Resource], types.NamespacedName{Namespace: id.Namespace, Name: id.Name})
		}
	}
	return named
}

// addNamed adds the objects that are watched by name. A watch has the rights of the controller. So an object is added
// only after the Application's ServiceAccount has read it, once for each generation of the spec and each UID. Source:
// docs/semantics.md, "Shared objects", "Permissions".
//
// waiting is ErrNotSeen if another list is not complete, or nil. Then nothing is read: the objects would be lost with
// this snapshot, and the next one would take them from the watch, which drops managedFields.
func (g *gatherer) addNamed(ctx context.Context, waiting error) error {
	if g.request.Shared == nil {
		return waiting
	}
	// An object that spec.select no longer matches is read again if it does later.
	maps.DeleteFunc(g.memory.permits, func(id manifest.ID, _ readPermission) bool { return !g.unmarked[id] && !g.shared[id] })
	shown := map[manifest.ID]map[string]any{}
	ids := g.byName()
	for _, id := range ids {
		kind := g.kinds.find(g.desired[id])
		delete(g.memory.unwatched, id)
		// The object may have the tracking label, too. Only a permitted read counts.
		delete(g.Input.Live, id)
		if kind == nil || kind.cause() != nil {
			continue
		}
		object, err := g.request.Shared(g.locationOf(id))
		switch {
		case errors.Is(err, ErrNotSeen):
			waiting = err
			continue
		case err != nil && g.Input.Blocked[id] == nil:
			g.Input.Blocked[id] = watchProblem(g.Input.Application, id.GroupKind(), kind.Resource, err)
			continue
		}
		shown[id] = object
	}
	if waiting != nil {
		return waiting
	}
	for _, id := range ids {
		object, ok := shown[id]
		if !ok {
			continue
		}
		if object = g.permitted(ctx, g.locationOf(id), object); object != nil {
			g.Input.Live[id] = object
		}
	}
	return nil
}

// locationOf returns the location of an object that is watched by name and whose kind is known.
func (g *gatherer) locationOf(id manifest.ID) cluster.Location {
	return cluster.Location{ID: id, Mapping: g.kinds.find(g.desired[id]).Mapping, Shared: g.shared[id], ReadOnly: observes(g.request.Application)}
}

// permitted returns the object if the ServiceAccount may read it; nil if it does not exist or may not be read. If it
// reads the object, it returns the result of the read, which has managedFields. A denied read blocks the object with
// increasing backoff.
func (g *gatherer) permitted(ctx context.Context, at cluster.Location, object map[string]any) map[string]any {
	app := g.Input.Application
	asked := readPermission{generation: app.Generation, account: app.Spec.ServiceAccountName, uid: uidOf(object)}
	known, has := g.memory.permits[at.ID]
	sameSpec := has && known.generation == asked.generation && known.account == asked.account
	if sameSpec && (object == nil || known.uid == asked.uid) {
		return object // otherwise it was created again, or the watch is behind the last read
	}
	if g.Input.Blocked[at.ID] != nil {
		return nil // it is read at the next retry
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	read, err := g.view.Get(ctx, at)
	switch {
	case apierrors.IsNotFound(err):
		read = nil
	case err != nil:
		delete(g.memory.permits, at.ID)
		g.Input.Blocked[at.ID] = g.memory.failed(at.ID, g.view.Problem(err, at, "get"), g.Input.Now)
		return nil
	}
	delete(g.memory.failures, at.ID)
	asked.uid = uidOf(read)
	put(&g.memory.permits, at.ID, asked)
	put(&g.proven, at.ID, true)
	return read
}

// addHolders adds the other Applications that objects name as holders or that the status waits for. The cache may
// lack an Application that was just created or that this controller does not select. So they are read from the API
// server when this Application begins to hold fields, before a claim is ignored, and when an awaited claim disappears.
//
// In g.Input.Holders, nil means that the Application does not exist. A missing key means that this is unknown.
// Source: docs/semantics.md, "Several Applications share an object".
func (g *gatherer) addHolders(ctx context.Context) {
	app := g.Input.Application
	if g.request.Holder == nil {
		return
	}
	g.Input.Holders = map[string]*v1alpha1.Application{}
	// unsure lists the holders that must be read from the API server.
	unsure := map[string]bool{}
	add := func(id manifest.ID, name string, uid types.UID, begins bool) {
		holder, known := g.Input.Holders[name]
		if !known {
			holder, _ = g.request.Holder(ctx, name, false)
			g.Input.Holders[name] = holder
		}
		unsure[name] = unsure[name] || begins || plan.HoldsNothing(holder, uid, id)
	}
	// A new generation can claim other fields, so it must not rely on the cache.
	isNew := app.Generation != app.Status.ObservedGeneration && app.DeletionTimestamp == nil
	for id, live := range g.Input.Live {
		for name, uid := range claim.OtherHolders(app, live) {
			add(id, name, uid, isNew || !isHeld(app, id, uidOf(live)))
		}
	}
	for _, status := range app.Status.Resources {
		id := manifest.IDFromReference(status.ResourceReference)
		live := g.Input.Live[id]
		isReleased := len(status.WaitsFor) > 0 && live != nil && lacksClaim(app, live, status.Waits)
		for _, holder := range status.WaitsFor {
			add(id, holder.Application, holder.UID, isReleased)
		}
	}
	for name, holder := range g.Input.Holders {
		if unsure[name] {
			g.readHolder(ctx, name, holder)
		}
	}
}

// lacksClaim reports whether a live object names no holder for one of some leaves that an Application waits for. The
// holder has just released it, and the cache may still contain its previous spec.
func lacksClaim(app *v1alpha1.Application, live map[string]any, waits []string) bool {
	claims := claim.ListWithKeys(app, claim.ReadHolders(live))
	return slices.ContainsFunc(waits, func(leaf string) bool {
		return !slices.ContainsFunc(claims, func(c claim.Claim) bool { return c.Overlaps(leaf) })
	})
}

// readHolder reads a holder from the API server, if it is in the same namespace. It removes a holder that it cannot
// read, because the holder may exist. For another namespace, an empty cache shows nothing, because the controller may
// not select that Application.
func (g *gatherer) readHolder(ctx context.Context, name string, cached *v1alpha1.Application) {
	if !claim.IsInNamespaceOf(g.Input.Application, name) {
		if cached == nil {
			delete(g.Input.Holders, name)
		}
		return
	}
	read, err := g.request.Holder(ctx, name, true)
	if err != nil {
		delete(g.Input.Holders, name)
		return
	}
	g.Input.Holders[name] = read
}

// longestYield is the maximum time for which unclaimed fields are left to an older Application. That
// Application decides about the object within milliseconds, or cannot.
const longestYield = 5 * time.Second

// addOlder adds the older Applications that may claim fields of shared objects, for at most longestYield per object,
// generation and UID. It records since when this Application yields to them.
// Source: docs/semantics.md, "Several Applications share an object", "Precedence".
func (g *gatherer) addOlder() {
	// Waits that are no longer needed are dropped.
	before := g.memory.yields
	g.memory.yields = nil
	if g.request.Older == nil || g.Input.Application.DeletionTimestamp != nil {
		return
	}
	ids := map[manifest.ID]struct{}{}
	maps.Copy(ids, g.memory.selected)
	for id := range g.shared {
		ids[id] = struct{}{}
	}
	for id := range ids {
		version := versionOf(g.Input.Live[id])
		// An object that does not exist has no fields to leave.
		if version == "" {
			continue
		}
		older := g.request.Older(id, version)
		if len(older) == 0 {
			continue
		}
		now := precedenceWait{g.Input.Application.Generation, uidOf(g.Input.Live[id]), g.Input.Now}
		// Otherwise the wait begins again.
		if was, did := before[id]; did && was.generation == now.generation && was.uid == now.uid {
			now.since = was.since
		}
		if g.memory.yields == nil {
			g.memory.yields, g.Input.Precedence = map[manifest.ID]precedenceWait{}, map[manifest.ID][]string{}
		}
		if g.memory.yields[id] = now; g.Input.Now.Sub(now.since) < longestYield {
			g.Input.Precedence[id] = older
		}
	}
}
