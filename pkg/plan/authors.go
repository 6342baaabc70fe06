package plan

import (
	"maps"
	"slices"
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// ObservedWrites is what the watch has shown of who wrote a live object, since the Application
// processed it, or wrote it.
type ObservedWrites struct {
	// ManagedFields are its managedFields, as JSON; nil if the object is gone.
	ManagedFields []byte
	// Events is how many events there were; those before a list count as several.
	Events int
	// ChangedEntries are the entries of Managed whose time has moved with the last event.
	ChangedEntries []int
	// FirstSeen is when the first of the events came; zero if that is not known.
	FirstSeen time.Time
	// FirstEvent is the number of that event.
	FirstEvent uint64
	// ResourceVersion is that of the newest event.
	ResourceVersion string
	// Writes is how many of the events may be more than a write of the subresource status,
	// and Write the version that the newest of them brought.
	Writes int
	Write  string
}

// writerIndex are the field managers of one live object. They answer, for every target and every
// report, who wrote a field.
type writerIndex struct {
	app     *v1alpha1.Application // its own writes name no author; nil to name them, too
	live    map[string]any
	entries []managerEntry
	// onlyCandidate is the only one who can have removed something; nil if that is not known.
	onlyCandidate *managerEntry
}

// writersOf returns the authors of a live object. Its own managedFields are newer than what
// the watch has shown.
func (in *Input) authorsOf(id manifest.ID, live map[string]any) *writerIndex {
	a := &writerIndex{app: in.Application, live: live, entries: managersOf(live)}
	written := in.ObservedWrites[id]
	if len(a.entries) > 0 || len(written.ManagedFields) == 0 {
		return a
	}
	a.entries = managersIn(written.ManagedFields)
	if written.Events != 1 || len(written.ChangedEntries) != 1 {
		return a
	}
	if i := slices.IndexFunc(a.entries, func(e managerEntry) bool { return e.nth == written.ChangedEntries[0] }); i >= 0 {
		a.onlyCandidate = &a.entries[i]
	}
	return a
}

// writerOf is who made a leaf what it is; the zero Writer if that is not known, which is better
// than a wrong name. Of what was removed managedFields have nothing: but if the time of one
// entry alone has moved with the one event that there was, it is its manager's doing.
func (a *writerIndex) writerOf(d delta.Difference) Writer {
	if at := written(d.LivePath(), d.Desired, d.Live); at != nil {
		if w, owned := a.managerOfValue(at); owned {
			return w
		}
	}
	if a.onlyCandidate == nil || isManager(a.app, a.onlyCandidate.Manager) {
		return Writer{}
	}
	return a.onlyCandidate.Writer
}

// managerOfValue returns the field manager that owns a value. A manager that sets a value owns it, and
// takes it from all others. It may own it as a part of something that it owns whole; but an
// empty map that another client wrote looks the same, so the nearest owner counts, and of
// several the last one. The Writer is zero on a tie: times have seconds only.
func (a *writerIndex) managerOfValue(at *observer.Path) (last Writer, owned bool) {
	steps := at.Steps(a.live)
	owners, nearest := []managerEntry{}, reachNone
	for _, e := range a.entries {
		switch reach := reachOf(e.leaves, steps); {
		case reach == reachNone || reach < nearest:
		case reach > nearest:
			owners, nearest = []managerEntry{e}, reach
		default:
			owners = append(owners, e)
		}
	}
	owned = len(owners) > 0
	owners = slices.DeleteFunc(owners, func(e managerEntry) bool { return a.app != nil && isManager(a.app, e.Manager) })
	if len(owners) == 0 {
		return Writer{}, owned
	}
	slices.SortStableFunc(owners, func(x, y managerEntry) int { return y.At.Compare(x.At) })
	tied := slices.DeleteFunc(slices.Clone(owners), func(e managerEntry) bool { return !e.At.Equal(owners[0].At) })
	for _, e := range tied {
		if len(tied) == 1 || a.onlyCandidate != nil && a.onlyCandidate.nth == e.nth {
			return e.Writer, owned
		}
	}
	return Writer{}, owned
}

// written is the place of a value that was set, where an observed value is not the desired
// one; nil if all that can be said is that something is missing.
func written(path *observer.Path, desired, observed delta.Value) *observer.Path {
	if !observed.Set {
		return nil
	}
	if !desired.Set {
		return path
	}
	switch now := observed.Any.(type) {
	case map[string]any:
		was, ok := desired.Any.(map[string]any)
		if !ok {
			return path
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if at := written(path.Field(name), member(was, name), member(now, name)); at != nil {
				return at
			}
		}
		return nil
	case []any:
		was, ok := desired.Any.([]any)
		if !ok {
			return path
		}
		for i, element := range now {
			if !slices.ContainsFunc(was, func(e any) bool { return observer.Equal(e, element) }) {
				return path.Element("[]", i)
			}
		}
		return nil
	}
	if desired.Equal(observed) {
		return nil
	}
	return path
}

// bySuffix names who wrote something, if that is known.
func bySuffix(manager string) string {
	if manager == "" {
		return ""
	}
	return " by " + manager
}
