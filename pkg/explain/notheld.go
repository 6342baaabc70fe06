package explain

import (
	"slices"

	"holdfast.dev/holdfast/pkg/plan"
)

// FreeDifferences returns the free fields of a resource whose live value differs from the manifest, whose value was
// written only when the object was created. It returns nil for a default schema. Values of Secrets are masked.
func FreeDifferences(p *plan.Plan, change plan.Change) (fields []Field) {
	schema := change.Schema()
	if schema == nil || change.Live() == nil || schema.Default && !schema.FromFields() {
		return nil
	}
	return slices.DeleteFunc(Change(p, change, false).Fields, func(f Field) bool { return f.State != Free || !f.Manifest.Set })
}
