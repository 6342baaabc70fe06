package plan

import "holdfast.dev/holdfast/pkg/delta"

// FreeDifference is a free field of which the manifest and the live object have different
// values: the manifest's was written when the object was created, and is not any more.
// Values of Secrets are masked.
type FreeDifference struct {
	Path           string
	Manifest, Live delta.Value
	// Profile is the HoldProfile that frees it; empty if that is the user.
	Profile string
}

// FreeDifferences are the free fields of a resource in which it differs from its manifest.
func (p *Plan) FreeDifferences(change Change) (fields []FreeDifference) {
	res := change.resource
	if res == nil || res.live == nil || res.entry.Default && !res.entry.FromFields() {
		return nil
	}
	for _, f := range p.ExplainChange(change, false).Fields {
		if f.State == FieldFree && f.Manifest.Set {
			fields = append(fields, FreeDifference{Path: f.Path, Manifest: f.Manifest, Live: f.Live, Profile: f.Profile})
		}
	}
	return fields
}
