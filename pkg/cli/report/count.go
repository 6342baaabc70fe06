package report

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// count is the summary of a plan.
type count struct {
	resources map[verb]int
	fields    int // to correct
	held      int // back: contested
}

func (c *count) add(did verb, change plan.Change) {
	if c.resources == nil {
		c.resources = map[verb]int{}
	}
	c.resources[did]++
	for _, field := range change.Fields {
		switch {
		case field.HeldBack:
			c.held++
		case did == correct:
			c.fields++
		}
	}
}

// Differs reports whether anything is not as it is desired.
func (c count) Differs() bool {
	for did, n := range c.resources {
		if did != unchanged && n > 0 {
			return true
		}
	}
	return c.held > 0
}

// String is like "Plan: 1 to create, 2 to correct (3 fields), 4 unchanged".
func (c count) String() string {
	var parts []string
	for _, part := range []struct {
		did  verb
		text string
	}{
		{create, "%d to create"},
		{correct, "%d to correct (" + terminal.Plural(c.fields, "field") + ")"},
		{orphan, "%d to orphan"},
		{remove, "%d to delete"},
		{blocked, "%d blocked"},
	} {
		if n := c.resources[part.did]; n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, n))
		}
	}
	if c.held > 0 {
		parts = append(parts, terminal.Plural(c.held, "contested field"))
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to do")
	}
	if n := c.resources[unchanged]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", n))
	}
	return "Plan: " + strings.Join(parts, ", ")
}
