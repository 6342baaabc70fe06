package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// Retire says what to do about the resources of an Application that is being
// deleted: delete them all in reverse order, or, where the deletion policy is
// Orphan, take our marks off and leave them.
func Retire(in Input) *Plan {
	p := newPlan(in)
	p.retiring = true
	records, inventory := recordsOf(in)
	p.statuses = statusByID(inventory)
	addCreated(records, in)
	p.leave(inventory, nil, records)
	p.order()
	return p
}

// orphaned tells whether an object that is no longer desired stays: its manifest
// said so, or else, when the Application is deleted, spec.deletionPolicy does.
func (p *Plan) orphaned(l *leaving) bool {
	policy := text(l.live, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	if l.previous != nil {
		policy = text(l.previous.desired, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	}
	if policy == "" && p.retiring {
		policy = string(p.in.Application.Spec.DeletionPolicy)
	}
	return policy == string(v1alpha1.DeletionOrphan)
}

// orphan plans the removal of our marks. What somebody deletes is left to that.
func (l *leaving) orphan() {
	if text(l.live, "metadata", "deletionTimestamp") != "" {
		return
	}
	var fields []delta.Difference
	for _, mark := range []struct{ field, key string }{
		{"labels", v1alpha1.LabelApplicationUID}, {"annotations", v1alpha1.AnnotationTrackingID},
	} {
		path := (*observer.Path)(nil).Field("metadata").Field(mark.field).Field(mark.key)
		value, has, _ := unstructured.NestedString(l.live, "metadata", mark.field, mark.key)
		if has {
			fields = append(fields, delta.Remove(path, value))
		}
	}
	if len(fields) == 0 {
		return
	}
	l.change.Action = Update
	l.change.Fields = fields
	l.change.UID = text(l.live, "metadata", "uid")
	l.change.ResourceVersion = text(l.live, "metadata", "resourceVersion")
	l.change.Guards, l.change.Patch = delta.Comparison{Differences: fields}.Patch(l.change.UID, l.change.ResourceVersion)
}
