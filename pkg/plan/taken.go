package plan

import (
	"holdfast.dev/holdfast/pkg/claim"
)

// IsTrackingOnly reports whether a change writes at most the tracking metadata of an object.
func (c Change) IsTrackingOnly() bool {
	if c.Problem != nil || c.Action != Update && c.Action != Unchanged {
		return false
	}
	for _, d := range c.Fields {
		if !claim.IsOnlyTracking(d) {
			return false
		}
	}
	return true
}
