// Package writer finds out which client wrote a field of an object, from the object's managedFields and
// from the events that a watch has delivered.
//
// Clients choose the names of their field managers, and managedFields has neither removals nor users. So the result is
// for people, and for the question whether a client other than an Application wrote in a value. If several clients are
// possible, the result is the zero Writer: no name is better than a wrong one. Package plan adds the users of audit
// events.
package writer

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// Writer is a field manager with the time of its last write. The zero Writer means that it is not known.
type Writer struct {
	// Manager is the name in managedFields. Clients choose it, so it proves nothing.
	Manager string
	// Operation is how it wrote: Update or Apply.
	Operation metav1.ManagedFieldsOperationType
	// Subresource through which it wrote, such as scale; "" for the object itself.
	Subresource string
	// At is the time of the managedFields entry, to the second. It is zero if the entry has none.
	At time.Time
}

// IsZero reports whether the writer is not known.
func (w Writer) IsZero() bool { return w.Manager == "" }

// MarshalJSON writes the printed form.
func (w Writer) MarshalJSON() ([]byte, error) { return json.Marshal(w.view()) }

// MarshalYAML writes the printed form.
func (w Writer) MarshalYAML() (any, error) { return w.view(), nil }

// view is a Writer in JSON and YAML. Its time is RFC 3339 in UTC; empty if it is not known.
type view struct {
	Manager     string `json:"manager" yaml:"manager"`
	Subresource string `json:"subresource,omitempty" yaml:"subresource,omitempty"`
	Time        string `json:"time,omitempty" yaml:"time,omitempty"`
}

func (w Writer) view() view {
	v := view{Manager: w.Manager, Subresource: w.Subresource}
	if !w.At.IsZero() {
		v.Time = w.At.UTC().Format(time.RFC3339)
	}
	return v
}

// Activity is a summary of the writes to a live object that the watch has delivered, since the
// Application processed the object or wrote it.
type Activity struct {
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

// Index is an index of the field managers of one live object. The live object's managedFields are decoded once.
type Index struct {
	app *v1alpha1.Application // its own field manager is never returned as a writer; nil to return all
	// Live is the live object, which resolves the keys of list elements in paths.
	Live    map[string]any
	entries []entry // none if managedFields are not known
	// onlyCandidate is the only field manager that can have removed something; nil if that is not known.
	onlyCandidate *entry
}

// NewIndex returns the writers of a live object, without the Application itself. If app is nil, all writers are
// returned.
func NewIndex(app *v1alpha1.Application, live map[string]any) *Index {
	return &Index{app: app, Live: live, entries: managersOf(live)}
}

// Index returns the writers of a live object, as NewIndex does. If the live object has managedFields, they are
// used, because they are newer than those that the watch delivered. app must not be nil.
func (w Activity) Index(app *v1alpha1.Application, live map[string]any) *Index {
	x := NewIndex(app, live)
	if len(x.entries) > 0 || len(w.ManagedFields) == 0 {
		return x
	}
	x.entries = managersIn(w.ManagedFields)
	// With more events, another client may have made the removal.
	if w.Events != 1 || len(w.ChangedEntries) != 1 {
		return x
	}
	if i := slices.IndexFunc(x.entries, func(e entry) bool { return e.nth == w.ChangedEntries[0] }); i >= 0 {
		x.onlyCandidate = &x.entries[i]
	}
	return x
}

// OfDifference returns the writer of the live value of a leaf, or the zero Writer if it is not known, which is
// better than a wrong name. managedFields does not record removals. If the watch delivered one event, and
// only one managedFields entry has a new time, then its manager made the removal.
func (x *Index) OfDifference(d delta.Difference) Writer {
	if at := setPath(d.LivePath(), d.Desired, d.Live); at != nil {
		if w, owned := x.OfValue(at); owned {
			return w
		}
	}
	if x.onlyCandidate == nil || isManager(x.app, x.onlyCandidate.Manager) {
		return Writer{}
	}
	return x.onlyCandidate.Writer
}

// OfValue returns the field manager that owns a value. A manager that sets a value owns it, and the
// other managers lose it. A manager may own the value as part of a map or list that it owns as one value.
// But an empty map that another client wrote looks the same, so the nearest owner counts, and of several
// equally near ones the one that wrote last. On a tie the Writer is zero, because the times have a
// resolution of one second.
func (x *Index) OfValue(at *observer.Path) (last Writer, owned bool) {
	steps := at.Steps(x.Live)
	owners, nearest := []entry{}, reachNone
	for _, e := range x.entries {
		switch reach := e.reachOf(steps); {
		case reach == reachNone || reach < nearest:
		case reach > nearest:
			owners, nearest = []entry{e}, reach
		default:
			owners = append(owners, e)
		}
	}
	// Before the Application is removed from the owners: a value that it owns has an owner, but no other writer.
	owned = len(owners) > 0
	owners = slices.DeleteFunc(owners, func(e entry) bool { return x.app != nil && isManager(x.app, e.Manager) })
	if len(owners) == 0 {
		return Writer{}, owned
	}
	slices.SortStableFunc(owners, func(a, b entry) int { return b.At.Compare(a.At) })
	tied := slices.DeleteFunc(slices.Clone(owners), func(e entry) bool { return !e.At.Equal(owners[0].At) })
	// Among several with the same time, the watch may have shown which one wrote.
	for _, e := range tied {
		if len(tied) == 1 || x.onlyCandidate != nil && x.onlyCandidate.nth == e.nth {
			return e.Writer, owned
		}
	}
	return Writer{}, owned
}

// setPath returns the path of a value that another client set, where the live value is not the desired one.
// It returns nil if the live value only lacks something. If there are several, it returns the first in a map, by
// name, or in a list.
func setPath(path *observer.Path, desired, live delta.Value) *observer.Path {
	if !live.Set {
		return nil
	}
	if !desired.Set {
		return path
	}
	// A missing field or element has no writer, so the path leads to a value in the live map or list.
	switch now := live.Any.(type) {
	case map[string]any:
		was, ok := desired.Any.(map[string]any)
		if !ok {
			return path
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if at := setPath(path.Field(name), delta.Member(was, name), delta.Member(now, name)); at != nil {
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
			// The label has no meaning: only the index is looked up in managedFields.
			if !slices.ContainsFunc(was, func(e any) bool { return observer.Equal(e, element) }) {
				return path.Element("[]", i)
			}
		}
		return nil
	}
	// A scalar with the desired value, in a map or list that has drifted elsewhere.
	if desired.Equal(live) {
		return nil
	}
	return path
}

// Owns reports whether a writer owns a field itself, or something below it. The writer must be one that the index has
// returned, with the same time.
func (x *Index) Owns(writer Writer, path *observer.Path) bool {
	steps := path.Steps(x.Live)
	return slices.ContainsFunc(x.entries, func(e entry) bool { return e.Writer == writer && e.reachOf(steps) == reachSelf })
}

// Owners reads from managedFields who owns the fields of a live object. They are decoded at the first call, because most
// comparisons need none.
type Owners struct {
	app     *v1alpha1.Application
	live    map[string]any
	entries func() []entry
}

// NewOwners returns the owners of the fields of a live object, or nil if its managedFields are not known. An empty list
// is known: another client has emptied managedFields.
func NewOwners(app *v1alpha1.Application, live map[string]any) *Owners {
	if _, isKnown := managedFieldsOf(live); !isKnown {
		return nil // a watch drops them
	}
	return &Owners{app, live, sync.OnceValue(func() []entry { return managersOf(live) })}
}

// depths are the numbers of steps of a path that the nearest entries share. A parent counts, because a manager can own it
// as one value. It does not count if any manager owns a part of it: then the parent is no such value, and its entry shows
// that its manager has written it empty.
type depths struct {
	own, other int
	// applied is that of other clients that apply what they own, at the path or at a parent.
	applied int
}

// nearest returns the depths of the entries of the Application, and of other clients that count.
func (o *Owners) nearest(steps []observer.Step, counts func(manager string) bool) (d depths) {
	leaves, parts, divided := make([]int, len(o.entries())), make([]int, len(o.entries())), 0
	for i, e := range o.entries() {
		leaves[i], parts[i] = e.depthsOf(steps)
		divided = max(divided, parts[i])
	}
	for i, e := range o.entries() {
		depth := leaves[i]
		if depth <= divided && depth < len(steps) {
			depth = 0
		}
		if parts[i] == len(steps) {
			depth = len(steps)
		}
		switch {
		case isManager(o.app, e.Manager):
			d.own = max(d.own, depth)
		case counts(e.Manager):
			d.other = max(d.other, depth)
			if e.Operation == metav1.ManagedFieldsOperationApply && leaves[i] > divided {
				d.applied = max(d.applied, leaves[i])
			}
		}
	}
	return d
}

// isApplied reports whether another client applies the value at the path, or a parent, as one value, and the Application
// owns nothing nearer.
func (d depths) isApplied() bool { return d.applied > 0 && d.applied >= d.own }

// IsForeign reports whether a client other than the Application wrote at or below a path, or owns a parent as one value
// and the Application owns nothing nearer. If managedFields are empty, any client may have written it.
func (o *Owners) IsForeign(path *observer.Path) bool {
	if len(o.entries()) == 0 {
		return true
	}
	d := o.nearest(path.Steps(o.live), func(string) bool { return true })
	return d.other > 0 && d.other >= d.own
}

// IsOwned reports whether a live value that the Application applied earlier still belongs to it. unchanged is true if the
// value is still the applied one. It decides where managedFields do not show who wrote a part: another manager updated a
// parent as one value, or no manager has the path. existed is true for an object that the Application did not create.
//
//	managedFields at the path                                    belongs to the Application
//	another manager has it, or applies a parent as one value     no
//	another manager updated a parent, and no nearer one is ours  if it is unchanged
//	the Application has it, or a parent                          yes
//	no manager, or only ancient-changes or other Applications    if it is unchanged, and the Application created the object
//
// Other Applications that still hold a field have claimed it, and only leave their names in managedFields otherwise.
func (o *Owners) IsOwned(path *observer.Path, unchanged, existed bool) bool {
	steps := path.Steps(o.live)
	d := o.nearest(steps, isOtherClient)
	if d.other == len(steps) || d.isApplied() || d.other > 0 && d.other >= d.own && !unchanged {
		return false
	}
	return d.own > 0 || !existed && unchanged
}

// IsApplied reports whether another client applies the value at a path, or a parent, as one value. It then owns all parts
// of it, also those that the Application has written with the same value.
func (o *Owners) IsApplied(path *observer.Path) bool {
	return o.nearest(path.Steps(o.live), isOtherClient).isApplied()
}

// isOtherClient reports whether a manager is a client other than the Applications.
func isOtherClient(manager string) bool {
	return manager != ancientChanges && !v1alpha1.IsFieldManager(manager)
}

// managedFieldsOf returns the managedFields of a live object, and whether they are known.
func managedFieldsOf(live map[string]any) (list []any, isKnown bool) {
	metadata, _ := live["metadata"].(map[string]any)
	list, isKnown = metadata["managedFields"].([]any)
	return list, isKnown
}

// ForeignTo returns Owners.IsForeign, or nil for an object without managedFields.
func ForeignTo(app *v1alpha1.Application, live map[string]any) func(*observer.Path) bool {
	if list, _ := managedFieldsOf(live); len(list) > 0 {
		return NewOwners(app, live).IsForeign
	}
	return nil
}

// ancientChanges is the manager to which the API server moves the oldest entries when an object has too many.
const ancientChanges = "ancient-changes"

// OnlyApplicationsWrote reports whether all field managers at a path belong to Applications, of any namespace. It is
// true for an object without managedFields.
func (x *Index) OnlyApplicationsWrote(path *observer.Path) bool {
	steps := path.Steps(x.Live)
	return !slices.ContainsFunc(x.entries, func(e entry) bool {
		return !v1alpha1.IsFieldManager(e.Manager) && e.reachOf(steps) != reachNone
	})
}

// isManager reports whether a field manager belongs to an Application.
func isManager(app *v1alpha1.Application, manager string) bool {
	return manager == v1alpha1.FieldManagerOf(app.Namespace, app.Name)
}
