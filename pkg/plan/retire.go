package plan

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// DecideDeletion says what to do about the resources of an Application that is being
// deleted: delete them all in reverse order, or, where they are to stay, take our marks
// off and leave them.
func DecideDeletion(in Input) *Plan {
	p := newPlan(in)
	p.retiring = true
	records, inventory := recordsOf(in, nil)
	p.statuses = statusByID(inventory)
	addCreated(records, in)
	p.prune(inventory, nil, records)
	p.order()
	return p
}

// Orphans reports whether all objects of an Application stay when it is deleted: its
// spec says so, or whoever deleted it did.
func Orphans(app *v1alpha1.Application) bool {
	return app.Spec.DeletionPolicy == v1alpha1.DeletionOrphan || isCascadeOrphan(app)
}

// RetainedObjects has the objects on record that stay when an Application is deleted, as far as its
// record says: all (see Orphans), or those that were adopted, or whose manifest says so.
func RetainedObjects(app *v1alpha1.Application) map[manifest.ID]bool {
	p := &Plan{in: Input{Application: app, Kinds: Offline()}, retiring: true}
	records, inventory := recordsOf(p.in, nil)
	stays := map[manifest.ID]bool{}
	for _, status := range inventory {
		id := IDOf(status.ResourceReference)
		live := map[string]any{"metadata": map[string]any{"uid": string(status.UID)}}
		if p.orphaned(&pruneCandidate{id: id, status: status, previous: records[id], live: live}) {
			stays[id] = true
		}
	}
	return stays
}

// RequestsOrphan reports whether this version of an Application shows that whoever deleted
// it asked to leave its objects. The garbage collector may take that finalizer off before
// anybody looks again: AnnotationOrphan is to be written before anything else.
func RequestsOrphan(app *v1alpha1.Application) bool {
	return app.DeletionTimestamp != nil && slices.Contains(app.Finalizers, metav1.FinalizerOrphanDependents)
}
