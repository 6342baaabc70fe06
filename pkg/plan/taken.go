package plan

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
