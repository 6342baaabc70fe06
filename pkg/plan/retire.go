package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
)

// DecideDeletion plans the deletion of an Application: delete its objects in reverse order, or remove the
// tracking metadata of objects that are orphaned. It does not render the manifests, so an invalid spec is no obstacle.
// Only a spec that this release does not know gives an invalid plan.
// Source: docs/semantics.md, "Suspending and deleting".
func DecideDeletion(in Input) *Plan {
	if problem := intent.UnsupportedProblem(in.Application); problem != nil {
		return NewInvalid(in, problem)
	}
	p := newPlan(in)
	p.retiring = true
	p.statuses = record.ByID(in.Application.Status.Resources)
	records := record.Read(in.Application, in.Kinds, nil)
	record.AddCreated(records, in.Application, in.Kinds)
	p.prune(nil, records)
	p.Changes = orderedChanges(p.resources, p.pruned)
	return p
}

// Orphans reports whether all objects of an Application are orphaned when it is deleted, because of its spec
// or because the client requested it with the deletion.
func Orphans(app *v1alpha1.Application) bool {
	return app.Spec.DeletionPolicy == v1alpha1.DeletionOrphan || claim.IsCascadeOrphan(app)
}

// RetainedObjects returns the objects of the inventory that are orphaned when an Application is deleted,
// according to its status. These are all objects (see Orphans), or those that were adopted or whose manifest
// sets the deletion policy.
func RetainedObjects(app *v1alpha1.Application) map[manifest.ID]bool {
	// The command line has no live objects here. The policies depend on the status and the records.
	in := Input{Application: app, Kinds: intent.Offline()}
	p := pruner{facts: &facts{in: in, retiring: true}}
	records := record.Read(app, in.Kinds, nil)
	stays := map[manifest.ID]bool{}
	for _, status := range app.Status.Resources {
		id := manifest.IDFromReference(status.ResourceReference)
		recorded := id
		// The scope of a custom kind is not known here, so that its record counts as namespaced.
		if id.Namespace == "" && records[id] == nil {
			recorded.Namespace = app.Namespace
		}
		// The UID makes claim.WasAdopted use the origin in the inventory.
		live := map[string]any{"metadata": map[string]any{"uid": string(status.UID)}}
		if p.orphaned(&pruneCandidate{id: id, status: status, previous: records[recorded], live: live}) {
			stays[id] = true
		}
	}
	return stays
}

// RequestsOrphan reports whether this version of an Application shows that the client that deleted it
// requested to orphan its objects, with propagationPolicy Orphan. The garbage collector may remove that finalizer
// before the next reconcile, so AnnotationOrphan must be written before anything else.
func RequestsOrphan(app *v1alpha1.Application) bool {
	return app.DeletionTimestamp != nil && slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents)
}
