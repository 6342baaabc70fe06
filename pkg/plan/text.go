package plan

import (
	"fmt"
	"strings"
)

// list joins the first five messages, with the number of the others.
func list(messages []string) string { return listed(messages, 5) }

// listed joins the first messages, with the number of the others. shown is how many it joins.
func listed(messages []string, shown int) string {
	if len(messages) <= shown {
		return strings.Join(messages, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(messages[:shown], "; "), len(messages)-shown)
}

// bySuffix returns " by MANAGER", or "" if the manager is not known.
func bySuffix(manager string) string {
	if manager == "" {
		return ""
	}
	return " by " + manager
}

// quotedBy is like bySuffix, for a manager whose name a message shows as another client's text.
func quotedBy(manager string) string {
	if manager == "" {
		return ""
	}
	return fmt.Sprintf(" by %q", manager)
}

// removalRemedy completes the texts about fields that were not removed.
const removalRemedy = "to remove it, hold it with mode: absent"

// count returns a number with its noun, in the plural unless the number is 1.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
