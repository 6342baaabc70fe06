package report

import (
	"fmt"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/explain"
)

// lately is the time in which a correction counts as recent.
const lately = time.Hour

// isNotable reports whether there is something to report about a resource: it has trouble, a field needs
// attention, or a field was corrected recently. In a large Application such resources are listed first.
func (r ResourceView) isNotable(now time.Time) bool {
	corrected, err := time.Parse(time.RFC3339, r.LastCorrection)
	return trouble(r) != 0 || err == nil && now.Sub(corrected) < lately || slices.ContainsFunc(r.fields, tellsField)
}

// tellsField reports whether a field needs attention.
func tellsField(f explain.Field) bool {
	return f.Drift != "" || f.State == explain.Contested || f.State == explain.Claimed && f.Desired.Set ||
		f.State == explain.Accepted && !f.Live.Set
}

// mostListed is the maximum number of resources that are listed without the flag --all. If there are more,
// only resources with something to report are listed.
const mostListed = 100

// notListed returns a text about the resources that are not listed, or "" if all are. told and quiet are the
// numbers of those with and without something to report; listed is the number of those that are listed.
func notListed(listed, told, quiet int) string {
	const how = ": --all lists them"
	switch {
	case told > 0 && quiet > 0:
		return fmt.Sprintf("… and %d more with something to report, and %d in sync%s", told, quiet, how)
	case told > 0:
		return fmt.Sprintf("… and %d more with something to report%s", told, how)
	case quiet > 0 && listed > 0:
		return fmt.Sprintf("… and %d more, all in sync%s", quiet, how)
	case quiet > 0:
		return fmt.Sprintf("%d resources, all in sync%s", quiet, how)
	}
	return ""
}

// First returns the first n resources. Resources with something to report precede the others.
func (v StatusView) First(n int, now time.Time) []ResourceView {
	telling := slices.DeleteFunc(slices.Clone(v.Resources), func(r ResourceView) bool { return !r.isNotable(now) })
	quiet := slices.DeleteFunc(slices.Clone(v.Resources), func(r ResourceView) bool { return r.isNotable(now) })
	return slices.Concat(telling, quiet)[:min(n, len(v.Resources))]
}
