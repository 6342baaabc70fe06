package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// Retire says what to do about the resources of an Application that is being
// deleted: delete them all in reverse order, or, with deletionPolicy Orphan,
// take our marks off and leave them.
func Retire(in Input) *Plan {
	if in.Rules == (Rules{}) {
		in.Rules = DefaultRules
	}
	p := &Plan{in: in, retiring: true}
	inventory := in.Application.Status.Resources
	p.statuses = statusByID(inventory)
	p.leave(inventory, nil)
	if in.Application.Spec.DeletionPolicy == v1alpha1.DeletionOrphan {
		var marked []*leaving
		for _, l := range p.leaving {
			if p.orphan(l) {
				marked = append(marked, l)
			}
		}
		p.leaving = marked
	}
	p.order()
	return p
}

// orphan turns a deletion into the removal of our marks. It is false if there is
// nothing to do.
func (p *Plan) orphan(l *leaving) bool {
	if l.change.Action != Delete {
		return false // already going, by somebody else's hand
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
		return false
	}
	l.change.Action = Update
	l.change.Fields = fields
	l.change.ResourceVersion = text(l.live, "metadata", "resourceVersion")
	l.change.Guards, l.change.Patch = delta.Comparison{Differences: fields}.Patch(l.change.UID, l.change.ResourceVersion)
	return true
}

// InDeletionStage returns the changes that may be executed now: those of the
// first stage, in order of deletion, that still has objects. What a later stage
// holds (a definition, a namespace) must outlive them.
func (p *Plan) InDeletionStage() []Change {
	var now []Change
	for _, c := range p.Changes {
		if len(now) > 0 && manifest.Stage(c.ID.GroupKind()) != manifest.Stage(now[0].ID.GroupKind()) {
			break
		}
		now = append(now, c)
	}
	return now
}
