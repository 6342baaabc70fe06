// Package truncate shortens texts for statuses, events and messages.
package truncate

import "strings"

// String returns a string of at most limit bytes. It cuts between characters, and marks the cut with an ellipsis.
func String(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}
