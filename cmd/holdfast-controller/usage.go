package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// electionUsage says in our words what the flags of leader election do.
var electionUsage = map[string]string{
	"leader-elect":                    "work only while this process has the lease, so that one of several replicas does; the others are ready to take over",
	"leader-elect-lease-duration":     "how long a lease holds that is not renewed: a leader that is gone is replaced after it",
	"leader-elect-renew-deadline":     "how long the leader tries to renew the lease before it ends; less than the lease duration",
	"leader-elect-retry-period":       "how long to wait between two tries to get or renew the lease",
	"leader-elect-resource-name":      "name of the Lease",
	"leader-elect-resource-namespace": "namespace of the Lease",
}

// usage is the help text: each flag on a line, and below it what it does.
func usage(set *pflag.FlagSet) string {
	const width, indent = 80, "      "
	var text strings.Builder
	text.WriteString("holdfast-controller holds the Applications of a cluster.\n\nUsage: holdfast-controller [flags]\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, what := pflag.UnquoteUsage(f)
		if own := electionUsage[f.Name]; own != "" {
			what = own
		}
		fmt.Fprintf(&text, "\n  --%s", f.Name)
		if kind != "" {
			fmt.Fprintf(&text, " %s", kind)
		}
		if f.DefValue != "" && f.DefValue != "[]" && f.DefValue != "false" {
			fmt.Fprintf(&text, "  (default %s)", f.DefValue)
		}
		column := width
		for word := range strings.FieldsSeq(what) {
			if column+1+len(word) > width {
				fmt.Fprintf(&text, "\n%s%s", indent, word)
				column = len(indent) + len(word)
				continue
			}
			text.WriteString(" " + word)
			column += 1 + len(word)
		}
		text.WriteString("\n")
	})
	return text.String()
}
