package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
)

// IsTrackingOnly reports whether a change writes at most the tracking metadata of an object.
func (c Change) IsTrackingOnly() bool {
	if c.Problem != nil || c.Action != Update && c.Action != Unchanged {
		return false
	}
	return !slices.ContainsFunc(c.Fields, func(d delta.Difference) bool { return !claim.IsOnlyTracking(d) })
}
