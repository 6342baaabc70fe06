package plan

import (
	"maps"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/record"
	"holdfast.dev/holdfast/pkg/writer"
)

// State is the state of an Application that is kept between two plans and is not, or not only, in its
// status. If it is lost, the only effect is a repeated correction. The zero value is an empty State.
//
// Decisions only read a State. Summarize changes a clone of it, which the caller stores as the next State.
type State struct {
	// Contests lists the leaves that were corrected recently. The path of a leaf is empty if the object itself is
	// deleted repeatedly.
	Contests map[Leaf]*Contest
	// Rejections lists the leaves that the API server refuses to change. The path of a leaf can be the path of a unit:
	// see delta.Difference.Unit. The caller clears them when the Application changes.
	Rejections map[Leaf]*Rejection
	// RejectedChanges lists the resources for which the API server rejects the whole change. The caller clears them
	// when the Application changes.
	RejectedChanges map[manifest.ID]*RejectedChange
	// conflicts are the fields to remove so that the API server accepts a change that it rejected, while
	// one plan is executed.
	conflicts map[manifest.ID][]string
	// Secrets contains the accepted forms of Secret values, which never leave the process.
	Secrets map[manifest.ID]delta.Accepted
	// PendingDrift lists the leaves that have drifted and could not be corrected yet. The map is replaced,
	// and never modified.
	PendingDrift map[Leaf]PendingDrift
	// Older are the history entries, newest first, that no longer fit into the status and are not in a
	// slice yet. The slice is replaced, and never modified.
	Older []v1alpha1.HistoryEntry
}

// PendingDrift is drift that is not corrected yet.
type PendingDrift struct {
	// Since is the time at which the drift was first found, Writer the client that caused it.
	Since  time.Time
	Writer writer.Writer
	// Observed is the live value. If it changes, the drift counts as new.
	Observed delta.Value
	WriteOrigin
}

// User is the user who made a write, according to the audit events of the API server.
type User struct {
	// Name is the user with whose permissions the write was made. Impersonator is the user who acted as
	// Name; empty if there was no impersonation.
	Name, Impersonator string
	// Address is the address from which the request was sent.
	Address string
}

// WriteOrigin is the write that caused something, and its user. Either is zero if it is not known. The version of a
// deletion has no resourceVersion.
type WriteOrigin struct {
	// Version is the object version that the write created.
	Version v1alpha1.ObjectVersion
	User    User
}

// Leaf is the identity of one leaf of one resource. It is a comparable key of maps.
type Leaf struct {
	ID manifest.ID
	// Path is in the form of delta.Difference.Path. An empty path is the whole object.
	Path string
}

// ContestPolicy is the rule by which a leaf becomes contested. Source: docs/semantics.md, "Fights".
type ContestPolicy struct {
	// A leaf is contested after Limit corrections within Window.
	Limit  int
	Window time.Duration
	// InitialBackoff is the delay of its next correction. The delay doubles each time, up to MaxBackoff. The default
	// policy waits 10 s, 20 s, 40 s, and so on up to 30 minutes.
	InitialBackoff, MaxBackoff time.Duration
}

// DefaultContestPolicy is the policy of the controller.
var DefaultContestPolicy = ContestPolicy{Limit: 5, Window: 10 * time.Minute, InitialBackoff: 10 * time.Second, MaxBackoff: 30 * time.Minute}

// Contest is the state of one leaf that was corrected recently. First, Times collects the corrections. When there are
// as many as the limit within the window, Times is cleared, and Corrections counts further ones.
type Contest struct {
	// Times are the times of the corrections within the window, while the leaf is not contested.
	Times []time.Time
	// Corrections is the number of corrections of a contested leaf, including those that made it contested;
	// 0 while it is not contested.
	Corrections int
	// Next is the time from which a contested leaf may be corrected again.
	Next time.Time
	// Manager is the field manager that wrote the leaf last; empty if it is not known.
	Manager string
	// Desired and Observed are the desired and the live value at the last correction.
	Desired, Observed delta.Value
}

// Contested reports whether the leaf is contested, so that its corrections back off.
func (f *Contest) Contested() bool { return f != nil && f.Corrections > 0 }

// HeldBack reports whether the correction of the leaf is deferred: it was rejected, or is contested.
func (m *State) HeldBack(leaf Leaf, now time.Time) bool {
	f := m.Contests[leaf]
	return m.refused(leaf, now) || f.Contested() && now.Before(f.Next)
}

// refused reports whether the leaf is deferred because the API server rejected its correction.
func (m *State) refused(leaf Leaf, now time.Time) bool {
	return m.Rejections[leaf].holds(now)
}

// Rejection is a correction that the API server rejects: a field is immutable, or a value is not valid. The
// correction is deferred for some time, together with its unit. The other fields of its resource are still
// held.
type Rejection struct {
	// Problem is the last rejection, without the time of the next attempt.
	Problem *Problem
	// Times is the number of rejections.
	Times int
	// Until is the time of the next attempt.
	Until time.Time
}

// RejectedChange is a rejected change of the desired state of a resource.
type RejectedChange struct {
	Rejection

	// of is the digest of the rejected manifest and schema: see resourceInput.intent. Another one is tried at once.
	of string
}

// holds reports whether the rejected correction is still deferred.
func (r *Rejection) holds(now time.Time) bool { return r != nil && now.Before(r.Until) }

// Retry ends the backoff of every contested leaf, so that it is corrected again now. The leaves remain contested. It
// replaces the maps, so that earlier decisions keep theirs.
func (m *State) Retry(now time.Time) {
	*m = *m.clone()
	for _, f := range m.Contests {
		if f.Next.After(now) {
			f.Next = now
		}
	}
}

// clone returns a copy that can be changed, so that earlier decisions keep their own state. PendingDrift and Older
// are shared, because they are replaced and never modified. Conflicts are not copied, because the State between two
// plans has none.
func (m *State) clone() *State {
	c := &State{Contests: maps.Clone(m.Contests), Rejections: maps.Clone(m.Rejections), RejectedChanges: maps.Clone(m.RejectedChanges), Secrets: maps.Clone(m.Secrets), PendingDrift: m.PendingDrift, Older: m.Older}
	// The values are pointers, which the copied maps still share.
	for leaf, f := range c.Contests {
		own := *f
		own.Times = slices.Clone(f.Times)
		c.Contests[leaf] = &own
	}
	for leaf, r := range c.Rejections {
		own := *r
		c.Rejections[leaf] = &own
	}
	for id, r := range c.RejectedChanges {
		own := *r
		c.RejectedChanges[id] = &own
	}
	for id, forms := range c.Secrets {
		c.Secrets[id] = maps.Clone(forms)
	}
	return c
}

// nearlyContested reports whether a leaf is contested, or will be with its next correction.
func (m *State) nearlyContested(leaf Leaf, rules ContestPolicy) bool {
	f := m.Contests[leaf]
	return f != nil && (f.Contested() || len(f.Times) >= rules.Limit-1)
}

// recordCorrection records a correction of a value that manager wrote, which can be "". It reports whether the leaf is
// newly contested. It must be called on a clone.
func (m *State) recordCorrection(leaf Leaf, d delta.Difference, manager string, now time.Time, rules ContestPolicy) bool {
	f := m.contestFor(leaf)
	f.Desired, f.Observed, f.Manager = d.Desired, d.Live, manager
	if f.Contested() {
		f.Corrections++
		f.Next = now.Add(rules.backoff(f.Corrections - rules.Limit))
		return false
	}
	// Corrections that are further apart than the window are no contest.
	f.Times = append(within(f.Times, now, rules.Window), now)
	return len(f.Times) >= rules.Limit && m.markContested(leaf, d, now, rules)
}

// markContested makes a leaf contested at once, as if it had been corrected as often as the limit. It reports whether
// it was not contested before.
func (m *State) markContested(leaf Leaf, d delta.Difference, now time.Time, rules ContestPolicy) bool {
	f := m.contestFor(leaf)
	isNew := !f.Contested()
	f.Desired, f.Observed = d.Desired, d.Live
	f.Corrections = max(f.Corrections, rules.Limit)
	f.Times = nil
	f.Next = now.Add(rules.backoff(f.Corrections - rules.Limit))
	return isNew
}

// resetInSync removes the contests of leaves that are in sync: the user has changed the spec, so the
// contest may be over. A leaf that still drifts remains contested.
func (m *State) resetInSync(drifted map[Leaf]bool) {
	maps.DeleteFunc(m.Contests, func(leaf Leaf, _ *Contest) bool { return !drifted[leaf] })
}

// contestFor returns the contest record of a leaf, and adds an empty one if there is none.
func (m *State) contestFor(leaf Leaf) *Contest {
	f := m.Contests[leaf]
	if f == nil {
		f = &Contest{}
		put(&m.Contests, leaf, f)
	}
	return f
}

// expireContests removes contests that are over: those of leaves that are in sync and have not been changed
// for a window. It returns the delay until the next check, or 0 if none is needed. A drifted leaf that was
// already due when the plan was decided needs no check. It was not corrected for another reason, which sets
// its own retry. A check at once would repeat forever.
func (m *State) expireContests(drifted map[Leaf]bool, decided, now time.Time, rules ContestPolicy) time.Duration {
	var next time.Duration
	for leaf, f := range m.Contests {
		if !f.Contested() {
			f.Times = within(f.Times, now, rules.Window)
			if len(f.Times) == 0 {
				delete(m.Contests, leaf)
			}
			continue
		}
		// A drifted leaf is due when it may be corrected again, another one when its contest is over.
		due := f.Next
		if !drifted[leaf] {
			due = f.Next.Add(rules.Window)
			if !now.Before(due) {
				delete(m.Contests, leaf)
				continue
			}
		} else if !decided.Before(due) {
			continue
		}
		if wait := max(due.Sub(now), time.Millisecond); next == 0 || wait < next {
			next = wait
		}
	}
	return next
}

// backoff returns the delay of a correction: the initial one, doubled the given number of times, up to the maximum.
func (r ContestPolicy) backoff(doublings int) time.Duration {
	pause := r.InitialBackoff
	for range max(doublings, 0) {
		if pause *= 2; pause >= r.MaxBackoff {
			return r.MaxBackoff
		}
	}
	return pause
}

// within returns the times that are less than a window ago. It reuses the array of times.
func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	return slices.DeleteFunc(times, func(t time.Time) bool { return now.Sub(t) >= window })
}

// acceptedForms returns the accepted forms in the status, and those of Secrets in the memory. If a reconcile was
// requested, the forms of dropped fields do not count: a CustomResourceDefinition may have the fields now.
func (f *facts) acceptedForms() map[manifest.ID]delta.Accepted {
	in := f.in
	accepted := record.AcceptedForms(&in.Application.Status)
	for id, forms := range in.Memory.Secrets {
		accepted[id] = withForms(accepted[id], forms)
	}
	if request := in.Application.Annotations[v1alpha1.AnnotationReconcile]; request == "" || request == in.Application.Status.ReconcileRequest || f.IsNoOp() {
		return accepted
	}
	for id, forms := range accepted {
		accepted[id] = maps.Clone(forms) // that of a Secret belongs to the memory
		maps.DeleteFunc(accepted[id], func(_ string, form delta.Form) bool { return form.Dropped() })
	}
	return accepted
}

// withForms merges two sets of accepted forms. Forms in more take precedence. It changes neither argument.
func withForms(forms, more delta.Accepted) delta.Accepted {
	if len(more) == 0 {
		return forms
	}
	all := delta.Accepted{}
	maps.Copy(all, forms)
	maps.Copy(all, more)
	return all
}
