package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/plan"
)

// count is the summary of a plan.
type count struct {
	resources map[verb]int
	fields    int // fields to correct
	// ours has the fields of shared objects, to hold or restore.
	ours map[verb]int // fields of shared objects, to hold or restore
	held int          // deferred fields
	same int          // blocked objects that are only compared and have no difference
}

// add counts one change. visible are the fields that the user sees as different.
func (c *count) add(did verb, change plan.Change, visible []delta.Difference) {
	if c.resources == nil {
		c.resources, c.ours = map[verb]int{}, map[verb]int{}
	}
	c.resources[did]++
	if did == blocked && len(visible) == 0 && change.IsOnlyCompared() {
		c.same++
	}
	for _, field := range visible {
		_, shown := shownOf(change, field)
		switch {
		case field.HeldBack:
			c.held++
		case !shown:
		case did == correct:
			c.fields++
		case change.Shared:
			c.ours[did]++
		}
	}
}

// Differs reports whether any object differs from its desired state.
func (c count) Differs() bool {
	for did, n := range c.resources {
		if did == blocked {
			n -= c.same
		}
		if did != unchanged && n > 0 {
			return true
		}
	}
	return c.held > 0
}

// String returns a text like "Plan: 1 to create, 2 to correct (3 fields), 4 unchanged".
func (c count) String() string {
	var parts []string
	for _, part := range []struct {
		did  verb
		text string
	}{
		{create, "%d to create"},
		{correct, "%d to correct (" + terminal.Plural(c.fields, "field") + ")"},
		{hold, "%d to hold (" + terminal.Plural(c.ours[hold], "field") + ")"},
		{restore, "%d to restore (" + terminal.Plural(c.ours[restore], "field") + ")"},
		{release, "%d to release"},
		{orphan, "%d to orphan"},
		{remove, "%d to delete"},
		{wait, "%d waiting"},
		{blocked, "%d blocked"},
	} {
		if n := c.resources[part.did]; n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, n))
		}
	}
	if c.held > 0 {
		parts = append(parts, terminal.Plural(c.held, "deferred field"))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to do")
	}
	if n := c.resources[unchanged]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", n))
	}
	return "Plan: " + strings.Join(parts, ", ")
}
