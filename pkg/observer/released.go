package observer

import "slices"

// Released returns the list that releases a field, or "" if none does. If several paths match the field, the last one
// decides. It accepts a nil schema.
func (e *Schema) Released(path string) Released {
	if e == nil {
		return ""
	}
	for _, r := range slices.Backward(e.released) {
		if IsUnder(path, r.path) {
			return r.as
		}
	}
	return ""
}
