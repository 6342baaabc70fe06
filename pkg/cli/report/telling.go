package report

import (
	"fmt"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/plan"
)

// lately is how long a correction is news.
const lately = time.Hour

// tells reports whether there is something to tell of a resource: it is not as it should be, a
// field is not, or was corrected lately. With an Application of very many, such resources come first.
func (r ResourceView) tells(now time.Time) bool {
	corrected, err := time.Parse(time.RFC3339, r.LastCorrection)
	return trouble(r) != 0 || err == nil && now.Sub(corrected) < lately || slices.ContainsFunc(r.fields, tellsField)
}

// tellsField reports whether a field is not simply as it should be.
func tellsField(f plan.Field) bool {
	return f.Drift != "" || f.State == plan.FieldContested || f.State == plan.FieldClaimed && f.Desired.Set ||
		f.State == plan.FieldAccepted && !f.Live.Set
}

// mostListed is how many resources are listed, unless all are asked for. Of more, only those are
// of which there is something to tell.
const mostListed = 100

// notListed says how many resources are not listed: told are those of which there is something
// to tell. It is empty if all are.
func notListed(listed, told, quiet int) string {
	const how = ": --all lists them"
	switch {
	case told > 0 && quiet > 0:
		return fmt.Sprintf("… and %d more of which there is something to tell, and %d which are as they should be%s", told, quiet, how)
	case told > 0:
		return fmt.Sprintf("… and %d more of which there is something to tell%s", told, how)
	case quiet > 0 && listed > 0:
		return fmt.Sprintf("… and %d more, which are as they should be%s", quiet, how)
	case quiet > 0:
		return fmt.Sprintf("%d resources, all as they should be%s", quiet, how)
	}
	return ""
}

// First are so many of the resources, those first of which there is something to tell.
func (v StatusView) First(n int, now time.Time) []ResourceView {
	var telling, quiet []ResourceView
	for _, r := range v.Resources {
		if r.tells(now) {
			telling = append(telling, r)
		} else {
			quiet = append(quiet, r)
		}
	}
	all := slices.Concat(telling, quiet)
	return all[:min(n, len(all))]
}
