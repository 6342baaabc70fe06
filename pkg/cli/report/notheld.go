package report

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
)

// Reported returns a line for each report-only field that has drifted:
//
//	Deployment web: spec.replicas: 2 in the manifest, live is 7: reported, not corrected
func Reported(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, w := range change.Reported() {
			f := explain.MaskedField(change.ID, w)
			wanted, _ := terminal.Inline(f.Desired)
			lines = append(lines, fmt.Sprintf("%s: %s: %s in the manifest, %s: reported, not corrected",
				files.NameOf(change.ID, d.Namespace), f.Path, wanted, liveText(f.Live)))
		}
	}
	return lines
}

// liveText returns the live value of a field as a part of a sentence.
func liveText(live delta.Value) string {
	if !live.Set {
		return "the live object has none"
	}
	text, _ := terminal.Inline(live)
	return "live is " + text
}

// NotHeld returns a line for each free field whose live value differs from its manifest, with the command
// that holds the field. If another object owns the Application, it is the command that edits the owner.
//
//	Deployment web: spec.replicas: 2 in the manifest, not held: live is 7, not written; hold it with ...
//	Deployment web: spec.replicas: 2 in the manifest, not held: HoldProfile autoscaled frees it: live is 7, ...
func NotHeld(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, n := range explain.FreeDifferences(d.Plan, change) {
			wanted, _ := terminal.Inline(n.Manifest)
			remedy := "hold it with `holdfast hold " + d.Name + " " + files.ArgumentOf(change.ID, false) + " " + ShellPath(n.Path) + "`"
			if owned := NotEditable(d.Application); owned != nil {
				remedy = owned.Error()
			}
			by := ""
			if n.Profile != "" {
				by = ": HoldProfile " + n.Profile + " frees it"
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s in the manifest, not held%s: %s, not written; %s",
				files.NameOf(change.ID, d.Namespace), n.Path, wanted, by, liveText(n.Live), remedy))
		}
	}
	return lines
}

// Additions returns a line for each element that another client added to a list with keys, with its value:
//
//	Deployment web: spec.template.spec.containers[name=proxy]: added by another client, not held: {name: proxy}
func Additions(d files.Decision) (lines []string) {
	for _, change := range d.Changes {
		for _, a := range change.Additions() {
			text, _ := terminal.Inline(explain.MaskedField(change.ID, a).Live)
			lines = append(lines, fmt.Sprintf("%s: %s: added by another client, not held: %s", files.NameOf(change.ID, d.Namespace), a.Path, text))
		}
	}
	return lines
}
