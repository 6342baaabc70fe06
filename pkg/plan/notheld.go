package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/delta"
)

// FreeDifferences returns the free fields of a resource whose live value differs from the manifest, whose value was
// written only when the object was created. It returns nil for a default schema. Values of Secrets are masked.
func (p *Plan) FreeDifferences(change Change) (fields []Field) {
	res := change.resource
	if res == nil || res.live == nil || res.entry.Default && !res.entry.FromFields() {
		return nil
	}
	return slices.DeleteFunc(p.ExplainChange(change, false).Fields, func(f Field) bool { return f.State != FieldFree || !f.Manifest.Set })
}

// Additions returns the elements that other clients added to open lists of the object. They are kept.
func (c Change) Additions() []delta.Difference {
	if c.resource == nil {
		return nil
	}
	return c.resource.compared.Additions
}
