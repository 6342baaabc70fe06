package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestNoBusyLoops simulates an hour without changes. A suspended, contested or rejected Application is
// reconciled only a few times.
func TestNoBusyLoops(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, settings)
		w.round()
		for _, field := range []string{"mode", "level"} {
			if rapid.Bool().Draw(r, field+" drifts") {
				w.set("theirs", "data", field)
			}
		}
		if rapid.IntRange(0, 4).Draw(r, "is gone") == 0 {
			w.live = map[manifest.ID]map[string]any{}
		}
		near := func(name string) time.Time {
			return w.now.Add(time.Duration(rapid.IntRange(-100, 100).Draw(r, name)) * 100 * time.Millisecond)
		}
		w.mem.Contests, w.mem.Rejections = map[plan.Leaf]*plan.Contest{}, map[plan.Leaf]*plan.Rejection{}
		for _, path := range []string{"data.mode", "data.level", ""} {
			leaf := plan.Leaf{ID: settingsID, Path: path}
			if rapid.Bool().Draw(r, "contested") {
				w.mem.Contests[leaf] = &plan.Contest{Corrections: rapid.IntRange(5, 20).Draw(r, "corrections"), Next: near("next")}
			}
			if path != "" && rapid.Bool().Draw(r, "refused") {
				w.mem.Rejections[leaf] = &plan.Rejection{Problem: rejected, Times: 1, Until: near("until")}
			}
		}
		w.app.Spec.Suspend = rapid.Bool().Draw(r, "suspended")
		refuses := rapid.Bool().Draw(r, "the API server refuses everything")
		reconciles := 0
		for end := w.now.Add(time.Hour); w.now.Before(end); reconciles++ {
			require.Less(r, reconciles, 40, "%v of the hour are left", end.Sub(w.now))
			wait := w.reconcile(refuses)
			if wait == 0 {
				return
			}
			w.now = w.now.Add(wait + time.Millisecond)
		}
	})
}

// reconcile decides, executes and summarizes, half a second later. It returns the delay until the next reconcile.
func (w *world) reconcile(refuses bool) time.Duration {
	p := w.decide()
	outcomes := map[manifest.ID]plan.Outcome{}
	for _, change := range p.Changes {
		switch {
		case !change.Writes() || p.Suspended():
		case refuses:
			again := *rejected
			again.RetryAfter = 2 * time.Minute
			outcomes[change.ID] = plan.Outcome{Action: change.Action, Problem: &again}
		default:
			outcomes[change.ID] = w.execute(change)
		}
	}
	w.now = w.now.Add(500 * time.Millisecond)
	result := w.store(p.Summarize(outcomes, w.now))
	if result.Again {
		return time.Millisecond
	}
	return result.RetryAfter
}
