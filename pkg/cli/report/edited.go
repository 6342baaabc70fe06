package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// Edited prints how a change of its schema affects the fields of a resource: which ones are held, learned,
// corrected or released. before and after are plans for the same live object. It prints nothing if no field is
// affected. The fields of the new plan precede those that only the previous plan has. At most 20 are printed:
//
//	Deployment web:
//	  spec.replicas         corrected: 5 → 3
//	  spec.paused           released: true is kept
//	  spec.minReadySeconds  learned as soon as a client sets it
func Edited(out io.Writer, namespace string, id manifest.ID, before, after *plan.Plan) {
	was := map[string]explain.Field{}
	// A resource that is new in the Application has no fields before.
	old, _ := explain.Resource(before, id, false)
	for _, f := range old.Fields {
		was[f.Path] = f
	}
	now, _ := explain.Resource(after, id, false)
	var rows [][]string
	for _, f := range now.Fields {
		if was[f.Path].State == explain.Mark || f.State == explain.Mark {
			continue // added with the first held field, removed with the last
		}
		if what := becomes(was[f.Path], f, now.Missing); what != "" {
			if !isHeld(f) {
				what = cmp.Or(releaseEffect(after, id, was[f.Path]), what)
			}
			rows = append(rows, []string{"  " + terminal.Visible(f.Path), what})
		}
	}
	for _, f := range old.Fields {
		if f.State == explain.Mark {
			continue
		}
		remains := slices.ContainsFunc(now.Fields, func(other explain.Field) bool { return observer.IsUnder(other.Path, f.Path) })
		if what := becomes(f, explain.Field{State: explain.Free, Live: f.Live}, now.Missing); !remains && what != "" {
			what = cmp.Or(releaseEffect(after, id, f), what)
			rows = append(rows, []string{"  " + terminal.Visible(f.Path), what})
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(out, files.NameOf(id, namespace)+":")
	const most = 20
	for i, line := range terminal.Aligned(rows) {
		if i == most && len(rows) > most+1 {
			fmt.Fprintf(out, "  … and %d more\n", len(rows)-most)
			return
		}
		fmt.Fprintln(out, line)
	}
}

// releaseEffect describes what happens to a released field of a shared object: it is restored, or it keeps its live
// value for a reason. It returns "" if there is nothing to add.
//
//	restored: net → web
//	restored: web is removed
//	not restored: web is kept, ...
func releaseEffect(after *plan.Plan, id manifest.ID, was explain.Field) string {
	live, _ := terminal.Inline(was.Live)
	for _, change := range after.Changes {
		if change.ID != id || !change.Shared {
			continue
		}
		for _, d := range change.Fields {
			switch {
			case d.Reason != delta.Restored || !observer.IsUnder(was.Path, d.Path):
			case !d.Desired.Set:
				return "restored: " + terminal.Visible(live) + " is removed"
			default:
				before, _ := terminal.Inline(d.Desired)
				return "restored: " + terminal.Visible(live) + " → " + terminal.Visible(before)
			}
		}
		for _, u := range change.Unrestored() {
			if u.Path == was.Path {
				return "not restored: " + terminal.Visible(live+" is kept, "+u.Why)
			}
		}
		if was.Unrestorable != "" && was.Live.Set {
			return "released: " + terminal.Visible(live+" is kept, "+was.Unrestorable)
		}
	}
	return ""
}

// becomes describes how one field changes. missing is true if the object does not exist. It returns "" if the
// field does not change. was is the zero Field for a field that the previous plan does not have; it is then not held.
//
//	before  after          result
//	any     another rule   ruled
//	free    held           heldNow
//	ruled   held           heldNow, because the rule is gone
//	held    free           released
//	other combinations     ""
func becomes(was, is explain.Field, missing bool) string {
	live, _ := terminal.Inline(is.Live)
	desired, _ := terminal.Inline(is.Desired)
	live, desired = terminal.Visible(live), terminal.Visible(desired)
	held, losesRule := isHeld(is), was.Rule != nil && is.Rule == nil
	switch {
	case is.Rule != nil && !sameRule(was.Rule, is.Rule):
		return ruled(is, missing, live, desired)
	case is.State == explain.Free && was.State == explain.Free && is.Why != was.Why:
		return is.Why // such as a value of a Secret, which the edit names and which is not held
	case held == isHeld(was) && (!held || !losesRule):
		return ""
	case held:
		return heldNow(is, missing, live, desired)
	case !is.Live.Set:
		return "released"
	}
	return "released: " + live + " is kept"
}

// heldNow describes the change of a field that is held to one value. live and desired are its escaped values.
func heldNow(is explain.Field, missing bool, live, desired string) string {
	switch {
	case is.Drift != "" && missing:
		return "held: " + desired + ", at creation"
	case is.Drift != "" && !is.Live.Set:
		return "corrected: " + desired + " is added"
	case is.Drift != "":
		return "corrected: " + live + " → " + desired
	case is.State == explain.Absent && !is.Live.Set:
		return "held: it must not be set"
	case is.State == explain.Learned && !is.Live.Set:
		return "learned as soon as a client sets it"
	case is.State == explain.Learned:
		return "learned: " + live + ", and held"
	}
	return "held: " + live
}

// ruled describes the change of a field that gets a rule. The text begins with the rule: "1 to 5: 3 is kept".
func ruled(is explain.Field, missing bool, live, desired string) string {
	rule := terminal.Visible(is.Rule.String())
	switch {
	case missing:
		return rule
	case is.Drift != "" && !is.Corrected:
		return rule + ": " + is.Why
	case is.Drift != "" && !is.Live.Set:
		return rule + ": corrected: " + desired + " is added"
	case is.Drift != "" && is.Rule.Mode == observer.ModeAbsent:
		return rule + ": corrected: " + live + " is removed"
	case is.Drift != "":
		return rule + ": corrected: " + live + " → " + desired
	case !is.Live.Set:
		return rule
	}
	return rule + ": " + live + " is kept"
}

// sameRule reports whether two rules have the same effect. It returns false if either is nil.
func sameRule(a, b *observer.Rule) bool { return a != nil && b != nil && a.String() == b.String() }

// isHeld reports whether a field is held: it is not free, not report-only, and will not be restored.
func isHeld(f explain.Field) bool {
	return f.State != "" && f.State != explain.Free && f.State != explain.Reported && f.Drift != delta.Restored
}

// PathsToEdit returns the field paths of a resource that can be released if free is true, or held otherwise. The
// completion of arguments offers them. It leaves out tracking metadata and report-only fields.
func PathsToEdit(p *plan.Plan, id manifest.ID, free bool) (paths []string) {
	explained, _ := explain.Resource(p, id, false)
	for _, f := range explained.Fields {
		if f.State != explain.Mark && f.State != explain.Reported && isHeld(f) == free {
			paths = append(paths, f.Path)
		}
	}
	return paths
}
