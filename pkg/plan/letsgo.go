package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// ReleasedFields are the fields of desired resources that a plan lets go of, and of which something is
// on record.
func (p *Plan) ReleasedFields() map[manifest.ID][]string {
	fields := map[manifest.ID][]string{}
	for _, res := range p.resources {
		for _, b := range res.letting.baseline {
			fields[res.object.ID] = append(fields[res.object.ID], b.Path)
		}
	}
	return fields
}

// StillHeld is the first of these fields that is on record still, and what keeps its resource
// from letting go; empty if there is none.
func StillHeld(app *v1alpha1.Application, fields map[manifest.ID][]string) (field, why string) {
	for _, r := range app.Status.Resources {
		id := IDOf(r.ResourceReference)
		for _, b := range r.Baseline {
			if slices.Contains(fields[id], b.Path) {
				return id.String() + ": " + b.Path, r.Message
			}
		}
	}
	return "", ""
}
