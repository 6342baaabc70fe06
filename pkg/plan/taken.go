package plan

import (
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
)

// IsTrackingOnly reports whether a change writes at most the tracking metadata of an object.
func (c Change) IsTrackingOnly() bool {
	if c.Problem != nil || c.Action != Update && c.Action != Unchanged {
		return false
	}
	for _, d := range c.Fields {
		if !isOnlyMarks(d) {
			return false
		}
	}
	return true
}

// isOnlyMarks reports whether a difference is tracking metadata, or adds a map that contains only tracking
// metadata.
func isOnlyMarks(d delta.Difference) bool {
	if d.Path != "metadata.labels" && d.Path != "metadata.annotations" {
		return isTrackingPath(d.Path)
	}
	marks, _ := d.Desired.Any.(map[string]any)
	for key := range marks {
		if !strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") {
			return false
		}
	}
	return d.Live.Any == nil && len(marks) > 0
}
