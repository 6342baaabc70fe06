package program

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// electionUsage replaces the usage texts of the leader election flags.
var electionUsage = map[string]string{
	"leader-elect":                    "reconcile only while this process holds the lease, so that one of several replicas works and the others stand by",
	"leader-elect-lease-duration":     "duration of a lease: a leader that does not renew it is replaced after this time",
	"leader-elect-renew-deadline":     "time for which the leader tries to renew the lease before it exits; must be less than the lease duration",
	"leader-elect-retry-period":       "interval between attempts to acquire or renew the lease",
	"leader-elect-resource-name":      "name of the Lease",
	"leader-elect-resource-namespace": "namespace of the Lease",
}

// usage returns the help text: each flag on a line, followed by its description, wrapped at 80 columns.
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
		// The description begins on a line of its own.
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
