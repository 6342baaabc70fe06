package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/plan"
)

// countsText returns the number of fields in each state, the most important state first. It leaves out tracking
// metadata. It returns "" if all counts are 0: "2 held, 2 learned, 7 free".
func countsText(counts map[plan.FieldState]int) string {
	var parts []string
	for _, state := range []plan.FieldState{
		plan.FieldHeld, plan.FieldLearned, plan.FieldAccepted, plan.FieldContested, plan.FieldClaimed, plan.FieldRemoved, plan.FieldRestored,
		plan.FieldAllowed, plan.FieldPushed, plan.FieldAbsent, plan.FieldReported, plan.FieldFree,
	} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
