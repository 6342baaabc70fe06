package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// addUnwatchedCache adds the objects that were read and are in no watch, and drops those that are watched now or must
// be read again. Without this cache, a conflicting object would be read in each reconciliation.
func (g *gatherer) addUnwatchedCache() {
	for id, f := range g.memory.unwatched {
		if _, watched := g.Input.Live[id]; watched || !g.Input.Now.Before(f.until) {
			delete(g.memory.unwatched, id)
			continue
		}
		g.Input.Live[id] = f.object
	}
}

// unblockDeleted ends the wait of each desired object that is deleted since its last attempt failed: its create is
// another request.
func (g *gatherer) unblockDeleted() {
	for id, f := range g.memory.failures {
		if _, is := g.desired[id]; is && f.uid != "" && g.Input.Live[id] == nil {
			delete(g.Input.Blocked, id)
		}
	}
}

// addUnwatched reads the objects that may exist although no create finds them and they are in no store. An object that
// lost the tracking label is not gone until a read returns that. An object whose create had no response may not be in
// the watch yet. The error is the problem of an object that is not in the inventory: without its state, nothing may
// be decided, because no resource could report it.
func (g *gatherer) addUnwatched(ctx context.Context) error {
	recorded := map[manifest.ID]bool{}
	before := g.memory.gone
	g.memory.gone = nil // only those that the status still lists
	for _, status := range g.Input.Application.Status.Resources {
		id := manifest.IDFromReference(status.ResourceReference)
		recorded[id] = true
		if before[status.UID] {
			put(&g.memory.gone, status.UID, true)
		}
		// The loop below reads the objects in unanswered.
		if plan.MayExist(status) && !g.memory.gone[status.UID] && !g.memory.unanswered[id] {
			if problem := g.addLeft(ctx, id, status.UID); problem != nil {
				g.Input.Blocked[id] = problem
			}
		}
	}
	for _, id := range manifest.SortedIDs(g.memory.unanswered) {
		problem := g.addLeft(ctx, id, "")
		switch {
		case problem == nil:
		case recorded[id]:
			g.Input.Blocked[id] = problem
		default:
			return problem
		}
	}
	return nil
}

// addLeft reads an object unless a create finds it, or it is already known, or of a kind that cannot be read. It returns
// the problem that prevents the read now; nil if the object was read or does not exist. recorded is the UID in the
// inventory, or "".
func (g *gatherer) addLeft(ctx context.Context, id manifest.ID, recorded types.UID) *plan.Problem {
	if g.Input.Live[id] != nil {
		delete(g.memory.unanswered, id)
		return nil
	}
	kind := g.kinds.first[id.GroupKind()]
	_, desired := g.desired[id]
	isCreated := desired && !g.Input.Application.Spec.Suspend
	if readable := kind != nil && kind.problem == nil; !readable || isCreated {
		return nil
	}
	if blocked := g.Input.Blocked[id]; blocked != nil {
		return blocked
	}
	at := cluster.Location{ID: id, Mapping: kind.Mapping}
	object, err := g.view.Get(ctx, at)
	switch {
	case err == nil:
		g.Input.Live[id] = object
		if desired {
			put(&g.memory.unwatched, id, unwatchedObject{object: object, until: g.Input.Now.Add(recheckConflict)})
		}
	case apierrors.IsNotFound(err):
		delete(g.memory.unanswered, id)
		if recorded != "" {
			put(&g.memory.gone, recorded, true)
		}
	default:
		return g.memory.failed(id, g.view.Problem(err, at, "get"), g.Input.Now)
	}
	return nil
}

// unannounced returns why objects of a kind in the write-ahead annotation cannot be read now; nil if there is
// no such kind. A previous process may have created objects that are not in the inventory.
func (s *Snapshot) unannounced() *plan.Problem {
	for _, gvk := range announced(s.Input.Application) {
		kind := s.kinds.first[gvk.GroupKind()]
		if kind != nil && kind.problem != nil && kind.problem.Disposition() == v1alpha1.DispositionRetry {
			return kind.problem
		}
	}
	return nil
}
