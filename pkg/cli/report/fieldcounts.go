package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/explain"
)

// countsText returns the number of fields in each state, the most important state first. It leaves out tracking
// metadata. It returns "" if all counts are 0: "2 held, 2 learned, 7 free".
func countsText(counts map[explain.State]int) string {
	var parts []string
	for _, state := range []explain.State{
		explain.Held, explain.Learned, explain.Accepted, explain.Contested, explain.Claimed, explain.Removed, explain.Restored, explain.Allowed, explain.Pushed, explain.Absent, explain.Reported, explain.Free,
	} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
