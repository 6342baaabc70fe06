package report

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// NotHeld says of each free field that differs from its manifest that it does, and how
// to hold it.
func NotHeld(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, n := range d.NotHeld(change.ID) {
			wanted, _ := terminal.Inline(n.Manifest)
			live := "the live object has none"
			if n.Live.Set {
				text, _ := terminal.Inline(n.Live)
				live = "live is " + text
			}
			remedy := "`" + n.Leaf + ": observed` in its entry of the observer schema"
			if canEdit(d, change.ID) {
				remedy = "`holdfast hold " + d.Name + " " + files.ArgumentOf(change.ID, false) + " " + ShellPath(n.Path) + "`"
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s in the manifest, not held: %s, not written; hold it with %s",
				files.NameOf(change.ID, d.Namespace), n.Path, wanted, live, remedy))
		}
	}
	return lines
}
