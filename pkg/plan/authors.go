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

// ObservedWrites is a summary of the writes to a live object that the watch has delivered, since the
// Application processed the object or wrote it.
type ObservedWrites struct {
	// ManagedFields is the JSON of its managedFields; nil if the object is gone.
	ManagedFields []byte
	// Events is the number of watch events; those before a list count as several.
	Events int
	// ChangedEntries are the indexes of the managedFields entries whose time changed with the last event.
	ChangedEntries []int
	// FirstSeen is the time of the first of these events; zero if it is not known.
	FirstSeen time.Time
	// FirstEvent is the number of that event.
	FirstEvent uint64
	// ResourceVersion is the resourceVersion of the newest event.
	ResourceVersion string
	// Writes is the number of events that may be more than a write of the status subresource. Write is the
	// resourceVersion of the newest of them.
	Writes int
	Write  string
}

// writerIndex is an index of the field managers of one live object. It finds the writer of a field for
// every history entry and every report.
type writerIndex struct {
	app     *v1alpha1.Application // its own field manager is never returned as a writer; nil to return all
	live    map[string]any
	entries []managerEntry
	// onlyCandidate is the only field manager that can have removed something; nil if that is not known.
	onlyCandidate *managerEntry
}

// authorsOf returns the writers of a live object. If the live object has managedFields, they are used,
// because they are newer than those that the watch delivered.
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

// writerOf returns the writer of the live value of a leaf, or the zero Writer if it is not known, which is
// better than a wrong name. managedFields does not record removals. If the watch delivered one event, and
// only one managedFields entry has a new time, then its manager made the removal.
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

// managerOfValue returns the field manager that owns a value. A manager that sets a value owns it, and the
// other managers lose it. A manager may own the value as part of a map or list that it owns as one value.
// But an empty map that another client wrote looks the same, so the nearest owner counts, and of several
// equally near ones the one that wrote last. On a tie the Writer is zero, because the times have a
// resolution of one second.
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

// written returns the path of a value that another client set, where the live value is not the desired one.
// It returns nil if the live value only lacks something.
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

// bySuffix returns " by MANAGER", or "" if the manager is not known.
func bySuffix(manager string) string {
	if manager == "" {
		return ""
	}
	return " by " + manager
}

func member(m map[string]any, name string) delta.Value {
	v, has := m[name]
	return delta.Value{Set: has, Any: v}
}
