package plan

import (
	"fmt"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// leaf tells of an observed field.
func (e *explainer) leaf(at place) {
	path := at.path.String()
	state := FieldHeld
	switch {
	case rootOf(path) == "status":
		state = FieldWatched
	case e.fight(path).Contested():
		state = FieldContested
	case e.plan.marks() > 0 && isMark(path):
		state = FieldMark
	case e.isAccepted(path, at.live):
		state = FieldAccepted
	case !at.written.Set:
		state = FieldLearned
	}
	if !at.want.Set && !at.live.Set && state == FieldHeld {
		return // an empty place in a list
	}
	e.add(at, state)
}

// isMark tells whether a field is one of our own marks.
func isMark(path string) bool {
	return path == "metadata.labels['"+v1alpha1.LabelApplicationUID+"']" ||
		path == "metadata.annotations['"+v1alpha1.AnnotationTrackingID+"']"
}

func (e *explainer) add(at place, state FieldState) {
	if at.path == nil {
		return // the object itself, and nothing is in it
	}
	f := Field{
		Path: at.path.String(), Parent: at.path.Parent().String(), State: state,
		Desired: at.want, Live: at.live, Writer: e.writer(at),
	}
	if state == FieldFree || state == FieldWatched {
		f.Desired = delta.Value{}
	}
	if d, differs := e.difference(f.Path); differs {
		if e.told != nil {
			e.told[d.Path] = true
		}
		f.Drift = d.Reason
	} else if e.live == nil && f.Desired.Set {
		f.Drift = delta.Missing
	}
	f.Corrected = f.Drift != "" && !e.heldBack(f.Path) && !e.stopped()
	if fight := e.fight(f.Path); fight.Contested() {
		f.Corrections, f.Next = fight.Corrections, fight.Next
	}
	f.Why = e.why(f)
	if !e.showSecrets {
		f.mask(e.id)
	}
	e.fields = append(e.fields, f)
}

// mask hides values of Secrets. That two differ still shows.
func (f *Field) mask(id manifest.ID) {
	if f.Desired.Set && f.Live.Set && !f.Desired.Equal(f.Live) {
		f.Desired, f.Live = maskedPair(id, f.Path, f.Desired, f.Live)
		return
	}
	if !secretPath(id, f.Path) {
		return
	}
	for _, v := range []*delta.Value{&f.Desired, &f.Live} {
		if v.Set {
			v.Any = manifest.Masked
		}
	}
}

// difference is the drift of the field, or of what it lies in.
func (e *explainer) difference(path string) (delta.Difference, bool) {
	for _, d := range e.compared.Differences {
		if observer.Under(path, d.Path) {
			return d, true
		}
	}
	return delta.Difference{}, false
}

func (e *explainer) fight(path string) *Fight {
	if e.plan.in.Memory == nil {
		return nil
	}
	return e.plan.in.Memory.Fights[Leaf{e.id, path}]
}

// isAccepted tells whether a live value is there in the form that was accepted.
func (e *explainer) isAccepted(path string, live delta.Value) bool {
	form, known := e.res.accepted[path]
	return known && e.compared.Relied[path] && form.Accepted.Equal(live)
}

// writer is who wrote a live field last.
func (e *explainer) writer(at place) Writer {
	var last Writer
	if !at.live.Set {
		return last
	}
	steps := at.path.Steps(e.live)
	for _, m := range e.writers {
		if (last.Manager == "" || m.at.After(last.At)) && touches(m.leaves, steps) {
			last = Writer{Manager: m.manager, Subresource: m.subresource, At: m.at}
		}
	}
	return last
}

// why says why the field is, or is not, corrected. It gives no values and no
// times: the field has them.
func (e *explainer) why(f Field) string {
	switch {
	case f.State == FieldWatched:
		return "watched: recorded in the status, never compared and never written"
	case f.Drift == delta.Extra && !e.heldBack(f.Path):
		return e.would("removed", "the list is longer than the observer schema allows")
	case f.State == FieldFree && f.Drift == "":
		return "free: the observer schema does not name it, so it is never written again"
	case f.State == FieldContested && f.Drift == "":
		return "in place now; it was changed back again and again" + by(e.fight(f.Path).Manager)
	case e.heldBack(f.Path):
		return "drift, and its correction waits: it is changed back again and again" + by(e.fight(f.Path).managerOf())
	case f.Drift != "":
		return e.driftWhy(f)
	default:
		return inPlaceWhy(f)
	}
}

// inPlaceWhy says why an observed field needs no correction.
func inPlaceWhy(f Field) string {
	switch {
	case f.State == FieldMark:
		return "in place: it says whose the object is"
	case f.State == FieldLearned && !f.Desired.Set:
		return "observed, and not known yet: it is learned when the API server sets it"
	case f.State == FieldLearned:
		return "in place: not in the manifest, so the API server's value was learned, and is held"
	case f.State == FieldAccepted && !f.Live.Set && observer.Empty(f.Desired.Any):
		return "in place: the API server leaves an empty value out"
	case f.State == FieldAccepted && !f.Live.Set:
		return "in place: the API server drops it. Is its name mistyped?"
	case f.State == FieldAccepted:
		return "in place: this is what the API server makes of the desired value"
	default:
		return "in place: it has the desired value"
	}
}

func (e *explainer) driftWhy(f Field) string {
	switch {
	case e.live == nil && e.change.Problem == nil:
		return e.would("created", "the object is not there")
	case f.Drift == delta.Missing:
		return e.would("added", "it is not there")
	case f.Drift == delta.ListLength:
		return e.would("added", "the list is shorter than the observer schema asks for")
	case f.Drift == delta.Removed && e.res == nil:
		return e.would("removed", "Holdfast lets the object go")
	case f.Drift == delta.Removed:
		return e.would("removed", "the manifest had it and no longer has it")
	default:
		return e.would("corrected", "the live value is not the desired one")
	}
}

// would says what is done about drift, or why nothing is.
func (e *explainer) would(done, because string) string {
	switch {
	case e.plan.Suspended() && e.stopped():
		return "drift: " + because + "; not " + done + " while the Application is suspended"
	case e.stopped():
		return fmt.Sprintf("drift: %s; not %s: %s", because, done, strings.TrimSuffix(e.change.Problem.Error(), "."))
	default:
		return "drift: " + because + "; it is " + done
	}
}

// stopped tells whether nothing of the resource is written, and why would say.
func (e *explainer) stopped() bool {
	return e.plan.Suspended() && !e.plan.retiring || e.change.Problem != nil && e.change.Action == Unchanged
}

func (e *explainer) heldBack(path string) bool {
	d, differs := e.difference(path)
	return differs && d.HeldBack
}

// managerOf is who fights, as far as that is known.
func (f *Fight) managerOf() string {
	if f == nil {
		return ""
	}
	return f.Manager
}

func by(manager string) string {
	if manager == "" {
		return ""
	}
	return " by " + manager
}
