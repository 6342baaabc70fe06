package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// leave finds what is on record, or carries our marks, and is not desired.
func (p *Plan) leave(inventory []v1alpha1.ResourceStatus, desired map[manifest.ID]bool, records map[manifest.ID]*record) {
	seen := map[manifest.ID]bool{}
	for _, status := range inventory {
		id := IDOf(status.ResourceReference)
		if !desired[id] && !seen[id] {
			seen[id] = true
			p.leaveOne(id, status, records[id])
		}
	}
	for _, id := range sortedIDs(p.in.Live) {
		live := p.in.Live[id]
		if desired[id] || seen[id] || p.in.Application.UID == "" || !Marked(p.in.Application, id, live) {
			continue
		}
		if !p.isNamed(id) {
			p.warn(fmt.Sprintf("%s carries the marks of this Application, and nothing on record says that it is its own: "+
				"it is left alone. Delete it, or take the label %s off", id, v1alpha1.LabelApplicationUID))
			continue
		}
		p.leaveOne(id, v1alpha1.ResourceStatus{
			ResourceReference: reference(id, text(live, "apiVersion")),
		}, records[id])
	}
}

// warn adds a warning while the plan is made.
func (p *Plan) warn(text string) {
	p.given = append(slices.Clone(p.given), text)
	p.Warnings = append(p.Warnings, text)
}

func (p *Plan) leaveOne(id manifest.ID, status v1alpha1.ResourceStatus, r *record) {
	l := &leaving{id: id, status: status, previous: r}
	p.judge(l, p.in.Live[id])
	switch {
	case l.change.Writes() || l.change.Problem != nil:
		p.leaving = append(p.leaving, l)
	case l.live == nil && status.UID != "":
		p.gone = append(p.gone, l)
	}
}

// Gone are the resources on record that are no longer desired and have gone since:
// what comes after a deletion is still to be done. An Outcome with a Problem keeps
// one on record.
func (p *Plan) Gone() []manifest.ID {
	ids := make([]manifest.ID, len(p.gone))
	for i, l := range p.gone {
		ids[i] = l.id
	}
	return ids
}

// judge decides what becomes of a resource that is no longer desired. Without a
// change and without a problem it is forgotten: it is gone, or not ours, or left
// without our marks.
func (p *Plan) judge(l *leaving, live map[string]any) {
	l.live = live
	l.change = Change{Action: Unchanged, ID: l.id, APIVersion: l.status.APIVersion, Leaves: true, leaving: l}
	blocked := p.in.Blocked[l.id]
	switch {
	case blocked != nil && blocked.Disposition() == v1alpha1.DispositionInstall:
		// the kind is gone, and its objects with it
	case blocked != nil && l.neverWas(blocked):
	case blocked != nil:
		l.change.Problem = blocked
	case l.live == nil || !mine(p.in.Application, l.id, &l.status, l.live):
	case p.orphaned(l):
		l.orphan()
	case text(l.live, "metadata", "deletionTimestamp") != "":
		l.change.Problem = p.terminating(l.id, l.live)
	default:
		l.change.Action = Delete
		l.change.UID = text(l.live, "metadata", "uid")
		l.change.ResourceVersion = text(l.live, "metadata", "resourceVersion")
	}
}

// MayExist reports whether a resource on record may be in the cluster, as far as the
// record says: it has been seen there, or perhaps nobody has seen the answer to its create.
func MayExist(status v1alpha1.ResourceStatus) bool {
	return status.UID != "" || v1alpha1.MeaningOf(status.Reason).Uncertain
}

// neverWas reports whether nothing can be there of a resource that cannot be acted on: it
// could not be created, for a reason that is not only of that moment.
func (l *leaving) neverWas(blocked *Problem) bool {
	if l.live != nil || !blocked.Stalled() || blocked.Disposition() == v1alpha1.DispositionGiveUp {
		return false
	}
	return !MayExist(l.status)
}

// order lists the changes as they are executed.
func (p *Plan) order() {
	byID := make(map[manifest.ID]*resource, len(p.resources))
	objects := make([]manifest.Object, len(p.resources))
	for i, res := range p.resources {
		byID[res.object.ID] = res
		objects[i] = res.object
	}
	for _, o := range manifest.InOrder(objects) {
		p.Changes = append(p.Changes, byID[o.ID].change)
	}
	for _, l := range reversed(p.leaving) {
		p.Changes = append(p.Changes, l.change)
	}
}

// reversed is the order in which resources are deleted. The inventory keeps its
// own, or it would be turned round with each status.
func reversed(resources []*leaving) []*leaving {
	ordered := slices.Clone(resources)
	slices.Reverse(ordered)
	slices.SortStableFunc(ordered, func(a, b *leaving) int {
		return manifest.Stage(b.id.GroupKind()) - manifest.Stage(a.id.GroupKind())
	})
	return ordered
}

func sortedIDs(live map[manifest.ID]map[string]any) []manifest.ID {
	return slices.SortedFunc(maps.Keys(live), func(a, b manifest.ID) int {
		return strings.Compare(a.String(), b.String())
	})
}

// orphaned reports whether an object that is no longer desired stays: its manifest
// said so, or whoever deleted the Application did; or else spec.deletionPolicy does; or else
// it was there before us, and spec.adoptedDeletionPolicy does not say otherwise.
func (p *Plan) orphaned(l *leaving) bool {
	if p.retiring && isCascadeOrphan(p.in.Application) {
		return true
	}
	policy := text(l.live, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	if l.previous != nil {
		policy = text(l.previous.desired, "metadata", "annotations", v1alpha1.AnnotationDeletionPolicy)
	}
	spec := p.in.Application.Spec
	switch {
	case policy != "":
	case p.retiring && spec.DeletionPolicy == v1alpha1.DeletionOrphan:
		return true
	case wasAdopted(p.in.Application, &l.status, l.live):
		return spec.AdoptedDeletionPolicy != v1alpha1.DeletionDelete
	}
	return policy == string(v1alpha1.DeletionOrphan)
}

// orphan plans the removal of our marks. What somebody deletes is left to that.
func (l *leaving) orphan() {
	if text(l.live, "metadata", "deletionTimestamp") != "" {
		return
	}
	var fields []delta.Difference
	for _, mark := range markPlaces {
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
