package plan

import (
	"maps"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
)

// State is what is remembered of an Application between two plans and is not,
// or not only, in its status. Losing it costs a repeated correction, nothing
// else. The zero value remembers nothing.
type State struct {
	// Contests has the leaves that were corrected lately.
	Contests map[Leaf]*Contest
	// Rejections has the leaves that the API server refuses to change.
	Rejections map[Leaf]*Rejection
	// RejectedChanges has the resources of which the API server refuses a whole change.
	RejectedChanges map[manifest.ID]*RejectedChange
	// conflicts are fields that are removed beside refused ones, while one plan is executed.
	conflicts map[manifest.ID][]string
	// Secrets has the accepted forms of Secret values, which never leave the
	// process.
	Secrets map[manifest.ID]delta.Accepted
	// PendingDrift has the leaves that were found to have drifted, and could not be corrected
	// yet. It is replaced, and never changed.
	PendingDrift map[Leaf]PendingDrift
	// Older are the entries, the newest first, for which the status's history has no room
	// any more, and which are in no slice yet. It is replaced, and never changed.
	Older []v1alpha1.HistoryEntry
}

// PendingDrift is a drift that is not corrected yet.
type PendingDrift struct {
	// Since is when it was there first, and Writer whose it is.
	Since    time.Time
	Writer   Writer
	Observed delta.Value
	WriteOrigin
}

// User is who wrote something, as the audit events of the API server say.
type User struct {
	// Name is of the user with whose rights it was done, Impersonator of the one who acted
	// as that user; empty if that is the same.
	Name, Impersonator string
	// Address is from where the API server was reached.
	Address string
}

// WriteOrigin is the write that something comes of, and its user, each as far as it is known.
type WriteOrigin struct {
	Version v1alpha1.ObjectVersion
	User    User
}

// Leaf names one leaf of one resource.
type Leaf struct {
	ID   manifest.ID
	Path string
}

// ContestPolicy say when a leaf is contested.
// Source: docs/semantics.md, "Fights".
type ContestPolicy struct {
	// Limit corrections within Window make a leaf contested.
	Limit  int
	Window time.Duration
	// Its corrections then wait for Pause, twice as long each time, up to
	// MaxBackoff.
	InitialBackoff, MaxBackoff time.Duration
}

// DefaultContestPolicy are those of the controller.
var DefaultContestPolicy = ContestPolicy{Limit: 5, Window: 10 * time.Minute, InitialBackoff: 10 * time.Second, MaxBackoff: 30 * time.Minute}

// Contest is the history of one leaf that is being corrected.
type Contest struct {
	// Times are the corrections within the window, as long as the leaf is not
	// contested.
	Times []time.Time
	// Corrections since the leaf is contested; 0 while it is not.
	Corrections int
	// Next is when a contested leaf may be corrected again.
	Next time.Time
	// Manager is the field manager that wrote the leaf last, if it is known.
	Manager string
	// Desired and Observed are the two values at the last correction.
	Desired, Observed delta.Value
}

// Contested reports whether the leaf backs off.
func (f *Contest) Contested() bool { return f != nil && f.Corrections > 0 }

// HeldBack reports whether the leaf must not be corrected yet: it was refused, or is
// contested.
func (m *State) HeldBack(leaf Leaf, now time.Time) bool {
	if m == nil {
		return false
	}
	f := m.Contests[leaf]
	return m.refused(leaf, now) || f.Contested() && now.Before(f.Next)
}

// refused reports whether an API server has refused to change the leaf just now.
func (m *State) refused(leaf Leaf, now time.Time) bool {
	return m != nil && m.Rejections[leaf].holds(now)
}

// Rejection is what the API server refuses to change: a field is immutable, or a value is not
// valid. It is held back for a while, with its unit; the rest of its resource stays held.
type Rejection struct {
	Problem *Problem
	// Times is how often it was refused.
	Times int
	// Until is when it is tried again.
	Until time.Time
}

// RejectedChange is a refused change of what is desired of a resource.
type RejectedChange struct {
	Rejection

	of string // the intent that was refused: see resource.intent
}

// holds reports whether what was refused has to wait.
func (r *Rejection) holds(now time.Time) bool { return r != nil && now.Before(r.Until) }

// Retry has every contested leaf corrected again now.
func (m *State) Retry() {
	*m = *m.clone()
	for _, f := range m.Contests {
		f.Next = time.Time{}
	}
}

// clone is a copy that can be changed: what was decided with a memory keeps its own.
func (m *State) clone() *State {
	c := &State{Contests: maps.Clone(m.Contests), Rejections: maps.Clone(m.Rejections), RejectedChanges: maps.Clone(m.RejectedChanges), Secrets: maps.Clone(m.Secrets), PendingDrift: m.PendingDrift, Older: m.Older}
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

// nearlyContested reports whether a leaf is contested, or will be with its next
// correction.
func (m *State) nearlyContested(leaf Leaf, rules ContestPolicy) bool {
	if m == nil || m.Contests[leaf] == nil {
		return false
	}
	f := m.Contests[leaf]
	return f.Contested() || len(f.Times) >= rules.Limit-1
}

// recordCorrection records a correction of what manager wrote. It reports whether the
// leaf is contested from now on.
func (m *State) recordCorrection(leaf Leaf, d delta.Difference, manager string, now time.Time, rules ContestPolicy) bool {
	f := m.contestFor(leaf)
	f.Desired, f.Observed, f.Manager = d.Desired, d.Live, manager
	if f.Contested() {
		f.Corrections++
		f.Next = now.Add(rules.backoff(f.Corrections - rules.Limit))
		return false
	}
	f.Times = append(within(f.Times, now, rules.Window), now)
	return len(f.Times) >= rules.Limit && m.markContested(leaf, d, now, rules)
}

// markContested makes a leaf contested at once. It reports whether it was not before.
func (m *State) markContested(leaf Leaf, d delta.Difference, now time.Time, rules ContestPolicy) bool {
	f := m.contestFor(leaf)
	isNew := !f.Contested()
	f.Desired, f.Observed = d.Desired, d.Live
	f.Corrections = max(f.Corrections, rules.Limit)
	f.Times = nil
	f.Next = now.Add(rules.backoff(f.Corrections - rules.Limit))
	return isNew
}

// resetInSync forgets the leaves of a resource that are in place: its user has
// changed what is wanted, and the fight may be over.
func (m *State) resetInSync(drifted map[Leaf]bool) {
	for leaf := range m.Contests {
		if !drifted[leaf] {
			delete(m.Contests, leaf)
		}
	}
}

func (m *State) contestFor(leaf Leaf) *Contest {
	if m.Contests == nil {
		m.Contests = map[Leaf]*Contest{}
	}
	f := m.Contests[leaf]
	if f == nil {
		f = &Contest{}
		m.Contests[leaf] = f
	}
	return f
}

// expireContests forgets what is over: leaves that are in place and have been left
// alone for a window. It returns when to look again, 0 if there is no need. What was
// due at the time of the decision and has drifted still is no need: it was not
// corrected for another reason, which says itself when to look again. To ask for it
// at once would be to ask for ever.
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

func (r ContestPolicy) backoff(doublings int) time.Duration {
	pause := r.InitialBackoff
	for range max(doublings, 0) {
		if pause *= 2; pause >= r.MaxBackoff {
			return r.MaxBackoff
		}
	}
	return pause
}

func within(times []time.Time, now time.Time, window time.Duration) []time.Time {
	kept := times[:0]
	for _, t := range times {
		if now.Sub(t) < window {
			kept = append(kept, t)
		}
	}
	return kept
}
