package plan

import (
	"fmt"
	"strings"
)

func shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

// list joins the first five messages, with the number of the others.
func list(messages []string) string { return listed(messages, 5) }

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

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
