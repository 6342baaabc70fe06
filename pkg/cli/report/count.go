package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/plan"
)

// count is the summary of a plan. The zero value is the summary of an empty plan.
type count struct {
	// resources counts the objects by action; nil for an empty plan.
	resources map[verb]int
	fields    int // fields to correct
	// ours counts the fields of shared objects to hold or restore, by action. Fields of objects to create are not
	// counted: the whole object is new.
	ours map[verb]int
	held int // deferred fields
	same int // blocked objects that are only compared and have no difference
}

// add counts one change. visible are the fields that the user sees as different. A deferred field is not counted as
// a field to correct, because this plan does not write it. Tracking metadata of a shared object is not counted.
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

// Differs reports whether any object differs from its desired state. The exit status of "diff" depends on it. A blocked
// object differs, too, unless it is only compared and has no difference.
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

// String returns the last line of a plan. The parts are in the order of their importance, and parts with 0 are omitted:
//
//	Plan: 2 to create
//	Plan: 1 to create, 2 to correct (4 fields), 4 unchanged
//	Plan: 1 to hold (2 fields), 1 blocked, 3 deferred fields
//	Plan: nothing to do, 2 unchanged
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
