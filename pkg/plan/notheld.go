package plan

import "holdfast.dev/holdfast/pkg/delta"

// FreeDifference is a free field with different values in the manifest and in the live object. The
// manifest's value was written only when the object was created. Values of Secrets are masked.
type FreeDifference struct {
	Path           string
	Manifest, Live delta.Value
	// Profile is the HoldProfile that frees the field; empty if the user frees it.
	Profile string
}

// FreeDifferences returns the free fields of a resource whose live value differs from the manifest. It
// returns nil for a default schema.
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

// Additions returns the elements that other clients added to open lists of the object. They are kept.
func (c Change) Additions() []delta.Difference {
	if c.resource == nil {
		return nil
	}
	return c.resource.compared.Additions
}
