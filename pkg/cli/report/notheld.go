package report

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/plan"
)

// Watched says of each field that is watched, and has drifted, that it has.
func Watched(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, w := range change.Watched() {
			desired, observed := plan.MaskedValues(change.ID, w)
			wanted, _ := terminal.Inline(desired)
			live := "the live object has none"
			if observed.Set {
				text, _ := terminal.Inline(observed)
				live = "live is " + text
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s in the manifest, watched: %s, and is not corrected",
				files.NameOf(change.ID, d.Namespace), w.Path, wanted, live))
		}
	}
	return lines
}

// NotHeld says of each free field that differs from its manifest that it does, and how
// to hold it.
func NotHeld(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, n := range d.FreeDifferences(change) {
			wanted, _ := terminal.Inline(n.Manifest)
			live := "the live object has none"
			if n.Live.Set {
				text, _ := terminal.Inline(n.Live)
				live = "live is " + text
			}
			remedy := "`holdfast hold " + d.Name + " " + files.ArgumentOf(change.ID, false) + " " + ShellPath(n.Path) + "`"
			by := ""
			if n.Profile != "" {
				by = ": HoldProfile " + n.Profile + " frees it"
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s in the manifest, not held%s: %s, not written; hold it with %s",
				files.NameOf(change.ID, d.Namespace), n.Path, wanted, by, live, remedy))
		}
	}
	return lines
}
