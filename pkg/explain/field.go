package explain

import (
	"fmt"
	"slices"
	"strings"

	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/claim"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// field adds the explanation of a field that the walk has reached. Later steps depend on the state that earlier ones
// set: a removal, a claim of another Application, and then the reason.
func (e *explainer) field(from delta.Field) {
	if hides(from) || e.schema != nil && e.live == nil && from.State == delta.StateFree {
		return // a create only writes the fields of the manifest
	}
	d := from.Difference
	f := Field{
		Path: from.Path.String(), Parent: from.Path.Parent().String(), State: State(from.State),
		Desired: from.Desired, Live: from.Live, Rule: from.Rule, Actors: Actors{Writer: e.writer(from)}, livePath: from.Path,
	}
	// The walk does not know the removal, because the object is released or the field was added by a hook.
	if removal := e.removal(from.Path); removal != nil {
		f.Path, f.Parent = pathIn(from.Path, removal), pathIn(from.Path.Parent(), removal)
		if f.State, d = Removed, removal; removal.Desired.Set {
			f.State, f.Desired = Restored, removal.Desired
		}
	}
	fight := e.fight(from.Path, f.Path, d)
	e.settle(&f, from, fight)
	// The plan does not correct it, although the walk finds drift.
	if e.claim(&f); f.State == Claimed {
		d = nil
	}
	if d != nil {
		f.Drift, f.IsDoubtful = d.Reason, d.Spelling == observer.MaybeRespelled
	}
	f.Corrected = d != nil && corrects(e.plan, e.change, *d)
	if fight != nil && (d != nil || f.State == Contested) {
		f.Corrections, f.Next = fight.Corrections, fight.Next
	}
	f.Why = e.reasonOf(f, from.State, d, fight)
	f.OnRelease, f.Unrestorable = e.onRelease(f)
	if e.schema != nil {
		f.settleProfile(e.schema.ProfileOf(f.Path), e.remedy("hold it with `holdfast hold`"))
	}
	if !e.showSecrets {
		// Last, because the steps above compare the values.
		f.mask(e.id)
	}
	e.fields = append(e.fields, f)
}

// pathIn returns a path with the name that a removal has for the list element that it removes: the walk of an object
// that is released knows no sets.
func pathIn(path *observer.Path, removal *delta.Difference) string {
	chain, removed := path.Chain(), removal.LivePath().Chain()
	if len(chain) < len(removed) {
		return path.String()
	}
	return removal.Path + strings.TrimPrefix(path.String(), chain[len(removed)-1].String())
}

// settleProfile sets the profile that frees or holds a field. remedy is how to hold the field.
func (f *Field) settleProfile(by *observer.ProfilePath, remedy string) {
	switch {
	// The profile does not decide about a field whose state contradicts it.
	case by == nil, f.State == Mark, by.Free != (f.State == Free):
	case by.Free && f.Manifest.Set:
		f.Profile, f.Why = by.Profile, "not held: "+intent.ProfileNote(by)+"; "+remedy
	case by.Free:
		f.Profile, f.Why = by.Profile, "free: "+intent.ProfileNote(by)
	default:
		f.Profile, f.Why = by.Profile, f.Why+"; "+intent.ProfileNote(by)
	}
}

// settle decides the state of an observed field, and sets the manifest's value of a field that is not
// corrected.
func (e *explainer) settle(f *Field, from delta.Field, fight *plan.Contest) {
	switch f.State {
	case Learned:
		// The values of Secrets are never learned, so an observed field without a value in the manifest is not held.
		if f.State = e.stateOf(*f, fight); f.State == Learned && plan.IsSecretPath(e.id, f.Path) {
			f.State = Free
		}
	case Held, Accepted:
		f.State = e.stateOf(*f, fight)
	case Removed, Absent:
		f.Desired = delta.Value{}
	case Allowed, Pushed:
		// The difference contains the value that is written, which may be a bound.
		if f.State = e.stateOf(*f, fight); from.Difference != nil && !from.Difference.ReportOnly {
			f.Desired = from.Difference.Desired
			return
		}
		f.markFree(from)
	case Free, Reported:
		f.markFree(from)
	}
}

// markFree sets the manifest's value of a field that is not corrected, if the live value is another one.
func (f *Field) markFree(from delta.Field) {
	f.Desired = delta.Value{}
	if from.Manifest.Set && !isAlike(from.Manifest, from.Live) {
		f.Manifest = from.Manifest
	}
}

// stateOf returns the state of an observed field that has, or may have, a desired value. A contest has precedence
// over tracking metadata.
func (e *explainer) stateOf(f Field, fight *plan.Contest) State {
	switch {
	case fight != nil:
		return Contested
	case e.in.Application.UID != "" && isMark(f.Path): // otherwise there is no tracking metadata
		return Mark
	}
	return f.State
}

// isMark reports whether a field is part of the tracking metadata.
func isMark(path string) bool {
	return claim.IsSharedTracking(path) && !claim.IsMetadataMap(path) ||
		slices.ContainsFunc(claim.TrackingKeys, func(mark claim.TrackingKey) bool { return path == mark.Path() })
}

// isAlike reports whether a free live value may be the API server's form of the manifest's value: the API
// server omits empty values, and normalizes quantities. The types of both values are unknown, so any two strings or
// numbers that are equal quantities are alike.
func isAlike(written, live delta.Value) bool {
	if !live.Set {
		return observer.Empty(written.Any)
	}
	if written.Equal(live) {
		return true
	}
	a, err := quantity.ParseQuantity(fmt.Sprint(written.Any))
	b, wrong := quantity.ParseQuantity(fmt.Sprint(live.Any))
	return err == nil && wrong == nil && a.Cmp(b) == 0
}

// mask hides values of Secrets. It still shows that two values differ.
func (f *Field) mask(id manifest.ID) {
	if f.Desired.Set && f.Live.Set && !f.Desired.Equal(f.Live) {
		f.Desired, f.Live = plan.MaskedPair(id, f.Path, f.Desired, f.Live)
		return
	}
	if !plan.IsSecretPath(id, f.Path) {
		return
	}
	for _, v := range []*delta.Value{&f.Desired, &f.Live, &f.Manifest} {
		if v.Set {
			v.Any = manifest.Masked
		}
	}
}

// fight returns the contest of a field, or nil. If the field has drifted, the contest is that of its difference, which
// can be for a map or list above it. path is the name of the field in the plan.
func (e *explainer) fight(at *observer.Path, path string, d *delta.Difference) *plan.Contest {
	if d != nil {
		path = d.Path
	}
	for {
		if fight := e.in.Memory.Contests[plan.Leaf{ID: e.id, Path: path}]; fight.Contested() {
			return fight
		}
		if at = at.Parent(); d != nil || at == nil {
			return nil
		}
		path = at.String()
	}
}

// writer returns the writer of a live field, which may be the Application itself.
func (e *explainer) writer(of delta.Field) (last writer.Writer) {
	if of.Live.Set {
		last, _ = e.authors.OfValue(of.Path)
	}
	return last
}

// reasonOf returns the reason why the field is corrected or not. from is the state in the walk. The text has no values
// and no times, because the Field has them.
func (e *explainer) reasonOf(f Field, from delta.State, d *delta.Difference, fight *plan.Contest) string {
	switch {
	case d != nil && d.ReportOnly && f.State == Reported:
		return "report-only: it has drifted, which is never corrected"
	case d != nil && d.ReportOnly:
		return "drift: its rule does not allow the value, and the manifest has no allowed value to write"
	// Below the status. A report-only field has a rule.
	case f.State == Reported && f.Rule == nil:
		return "reported in the status, and never compared or written"
	case f.State == Claimed:
		return "not written: Application " + f.Holder + " holds it"
	case f.State == Free:
		return e.freeWhy(f, from)
	case d == nil && f.State == Contested:
		return "in sync now; it was " + changedBack(fight)
	case d == nil:
		return inPlaceWhy(f, e.remedy("set it in the manifest, or release it with `holdfast free`"))
	case d.HeldBack:
		return "drift, and its correction is deferred" + e.deferredWhy(fight)
	case f.IsDoubtful:
		return e.driftAction("corrected", "the live value is "+plan.MaybeRespelled)
	default:
		return e.driftWhy(f)
	}
}

// deferredWhy returns the reason why the correction of a field is deferred, after a colon; "" if it is not known.
func (e *explainer) deferredWhy(fight *plan.Contest) string {
	switch {
	case fight != nil:
		return ": it is " + changedBack(fight)
	case e.change.Problem != nil:
		return ": " + e.change.Problem.Message
	}
	return ""
}

// changedBack returns the clause about the client that changes a contested field.
func changedBack(fight *plan.Contest) string {
	if fight.Manager == "" {
		return "repeatedly changed back"
	}
	return "repeatedly changed back by " + fight.Manager
}

// freeWhy returns the reason why a field is free. from is the state in the walk.
func (e *explainer) freeWhy(f Field, from delta.State) string {
	switch {
	case f.Manifest.Set:
		return "not held: the live value is kept; " + e.remedy("hold it with `holdfast hold`")
	case from == delta.StateLearned:
		return "not held: values of Secrets are never learned; set it in the manifest to hold it"
	}
	return "free: the observer schema does not name it, so it is never written again"
}

// remedy returns how a user can change the schema of a field. The commands refuse an Application with an owner, because
// the owner renders its spec.
func (e *explainer) remedy(command string) string {
	if owner := metav1.GetControllerOf(e.in.Application); owner != nil {
		return "edit " + owner.Kind + " " + owner.Name + ", which renders the spec"
	}
	return command
}

// stateWhy lists the reasons why a field needs no correction, for the states that determine the reason.
var stateWhy = map[State]string{
	Allowed:  "in sync: its rule allows the value, which is neither learned nor written",
	Pushed:   "in sync: written only when the manifest's value changes",
	Reported: "report-only: as in the manifest; drift is reported, and never corrected",
	Absent:   "in sync: it must be absent, and is absent",
	Mark:     "in sync: tracking metadata of Holdfast",
}

// inPlaceWhy returns the reason why an observed field needs no correction. remedy is how a user can set a field that
// is not known yet.
func inPlaceWhy(f Field, remedy string) string {
	switch {
	case stateWhy[f.State] != "":
		return stateWhy[f.State]
	case f.State == Learned && !f.Desired.Set && !f.Live.Set:
		return "observed, and not set yet: Holdfast learns the first value that the API server or another client writes, " +
			"and holds it; to use another value, " + remedy
	case f.State == Learned && !f.Desired.Set:
		return "observed, and not known yet: Holdfast learns it"
	case f.State == Learned:
		return "in sync: not in the manifest, so the live value was learned, and is held"
	case f.State == Accepted:
		return acceptedWhy(f)
	default:
		return "in sync: it has the desired value"
	}
}

// acceptedWhy returns the reason why a value other than the desired one is in sync.
func acceptedWhy(f Field) string {
	switch {
	case !f.Live.Set && observer.Empty(f.Desired.Any):
		return "in sync: the API server drops empty values"
	case !f.Live.Set:
		return "in sync: the API server drops it. Is its name mistyped?"
	case observer.SameAmount(f.Live.Any, f.Desired.Any):
		return "in sync: it is the desired amount"
	}
	return "in sync: this is the accepted form of the desired value"
}

// driftWhy returns the reason of drift, with the planned action. The more specific reasons are first.
func (e *explainer) driftWhy(f Field) string {
	switch {
	// Every field of a missing object is missing. The creation is the reason for all of them.
	case e.live == nil && e.change.Problem == nil:
		return e.driftAction("created", "the object does not exist")
	case f.Drift == delta.Unwanted:
		return e.driftAction("removed", "it must be absent")
	case f.State == Pushed:
		return e.driftAction("written", "the value in the manifest has changed since the last write")
	case f.Rule != nil && f.Drift == delta.Changed:
		return e.driftAction("corrected", "its rule does not allow the value")
	case f.Drift == delta.Missing:
		return e.driftAction("added", "it is missing")
	case f.State == Restored:
		return e.driftAction("restored", "it is no longer held")
	case f.Drift == delta.Restored:
		return e.driftAction("removed", "it is no longer held, and had no original value")
	case f.Drift == delta.ListLength:
		return e.driftAction("added", "the list is shorter than the observer schema requires")
	case f.Drift == delta.Extra:
		return e.driftAction("removed", "the list is longer than the observer schema allows")
	// Without a resource, the object itself is no longer desired.
	case f.Drift == delta.Removed && e.schema == nil:
		return e.driftAction("removed", "Holdfast releases the object")
	case f.Drift == delta.Removed:
		return e.driftAction("removed", "it was removed from the manifest")
	default:
		return e.driftAction("corrected", "the live value is not the desired value")
	}
}

// driftAction returns what is done about drift, or why nothing is done. done completes "it is", for example with
// "corrected". because is a clause about the live value.
func (e *explainer) driftAction(done, because string) string {
	switch {
	case e.plan.IsObserveOnly():
		return "drift: " + because + "; it would be " + done + ", but the Application is observe-only"
	case e.plan.Suspended() && stops(e.plan, e.change):
		return "drift: " + because + "; not " + done + " while the Application is suspended"
	case stops(e.plan, e.change):
		return fmt.Sprintf("drift: %s; not %s: %s", because, done, strings.TrimSuffix(e.change.Problem.Error(), "."))
	default:
		return "drift: " + because + "; it is " + done
	}
}

// corrects reports whether a plan corrects a difference of a change now.
func corrects(p *plan.Plan, c plan.Change, d delta.Difference) bool {
	return !d.HeldBack && !d.ReportOnly && !stops(p, c)
}

// stops reports whether nothing is written to the object of a change: driftAction returns the reasons.
func stops(p *plan.Plan, c plan.Change) bool {
	return p.IsNoOp() || c.Problem != nil && c.Action == plan.Unchanged
}
