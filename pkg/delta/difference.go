package delta

import (
	"encoding/json"

	"holdfast.dev/holdfast/pkg/observer"
)

// Reason says in one word what is wrong with a held field.
type Reason string

const (
	// Changed: the live value is neither the desired one nor its accepted form.
	Changed Reason = "changed"
	// Missing: the field, or the observed list element, is not there.
	Missing Reason = "missing"
	// Extra: the list is longer than the schema allows, and this element goes.
	Extra Reason = "extra"
	// ListLength: the list is shorter than the schema asks for.
	ListLength Reason = "list-length"
	// Removed: the manifest no longer has a field that we wrote.
	Removed Reason = "removed"
	// Unwanted: the observer schema says that the field is not to be there.
	Unwanted Reason = "unwanted"
	// Restored: a field of a shared object is let go, and gets back what it had before us.
	Restored Reason = "restored"
)

// Value is a JSON value that may be absent, which is not the same as null.
type Value struct {
	Set bool
	Any any
}

// Some is a value that is there.
func Some(v any) Value { return Value{Set: true, Any: v} }

// Equal reports whether both are absent, or both there and equal.
func (v Value) Equal(w Value) bool {
	return v.Set == w.Set && (!v.Set || observer.Equal(v.Any, w.Any))
}

// Difference is one drifted leaf.
type Difference struct {
	// Path as people read it, with keys in place of indices.
	Path              string
	Reason            Reason
	Desired, Observed Value
	// HeldBack is true if the leaf is contested, or was refused, and is not
	// corrected now.
	HeldBack bool
	// Rule is that of the leaf; nil if it has none. ReportOnly says that nothing is ever written
	// about it: it is watched, or nothing says what to write.
	Rule       *observer.Rule
	ReportOnly bool
	// Bound says that what is written is a bound of the rule, and not the desired value.
	Bound bool

	livePath   *observer.Path
	was        *previous // what our previous desired state had, if anything
	pushed     bool      // is written once for each value of the manifest
	ops        []Op
	guards     []Op
	structural bool // changes the indices of a list
	versioned  bool // is safe only on exactly the compared resourceVersion
}

// LivePath is the path as it leads through the live object.
func (d Difference) LivePath() *observer.Path { return d.livePath }

// Was is what our previous desired state had in this place.
func (d Difference) Was() Value {
	if d.was == nil {
		return Value{}
	}
	return Some(d.was.value)
}

// Op is one operation of a JSON Patch (RFC 6902).
type Op struct {
	Op    string
	Path  string
	Value any
}

// MarshalJSON writes the value of every operation that has one, null included.
func (o Op) MarshalJSON() ([]byte, error) {
	if o.Op == "remove" {
		return json.Marshal(struct {
			Op   string `json:"op"`
			Path string `json:"path"`
		}{o.Op, o.Path})
	}
	return json.Marshal(struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}{o.Op, o.Path, o.Value})
}

// Comparison is what Compare found.
type Comparison struct {
	// Differences in the order in which they are corrected.
	Differences []Difference
	// Warnings are about lists whose elements could not be told apart.
	Warnings []string
	// TooShort are the paths of lists that are shorter than their schema asks
	// for and for which no further element is known.
	TooShort []string
	// Rules are those of the leaves that have one, by path.
	Rules map[string]*observer.Rule
	// Outside are the fields that are outside of their rules, and why nothing is written
	// about it.
	Outside []string
	// Watched is the drift of fields that are watched: it is never corrected.
	Watched []Difference
	// Held is the number of leaves that are in place.
	Held int
	// Relied has the paths whose accepted form still counts: it was given to
	// exactly the value that is desired now.
	Relied map[string]bool
	// Unsure is true if something of unknown origin was taken for another client
	// else's, and left when the field around it was removed.
	Unsure bool
}

// IsInPlace reports whether nothing differs, is in doubt, or is worth a word.
func (c Comparison) IsInPlace() bool {
	return len(c.Differences)+len(c.Warnings)+len(c.TooShort)+len(c.Outside)+len(c.Watched)+len(c.Relied) == 0 && !c.Unsure
}

// Correctable reports whether anything is to be written now.
func (c Comparison) Correctable() bool {
	for _, d := range c.Differences {
		if !d.HeldBack {
			return true
		}
	}
	return false
}

// previous is a value of the previous desired state.
type previous struct {
	path  *observer.Path
	value any
}

// Kept is a desired state with what is to be removed and is held back: it will be
// the previous one when that is tried again. It is nil if there is no such thing.
func (c Comparison) Kept(desired map[string]any) map[string]any {
	var kept map[string]any
	for _, d := range c.Differences {
		if d.Reason != Removed && d.Reason != Extra || !d.HeldBack || d.was == nil {
			continue
		}
		if kept == nil {
			kept = observer.CopyMap(desired)
		}
		d.was.path.Put(kept, observer.Copy(d.was.value))
	}
	return kept
}

// Unmade is a desired state in which the fields that are not in place have the values that
// they had before, where there were others: it is what was applied. What is pushed and was
// attempted may have been written or not: nothing says then which value was the last.
func (c Comparison) Unmade(desired map[string]any, attempted bool) map[string]any {
	applied, copied := desired, false
	for _, d := range c.Differences {
		isUnknown := d.pushed && (attempted || d.was == nil)
		isKnown := (d.Reason == Changed || d.Reason == Missing) && d.was != nil && !d.Desired.Equal(Some(d.was.value))
		if !isUnknown && !isKnown {
			continue
		}
		if !copied {
			applied, copied = observer.CopyMap(desired), true
		}
		if isUnknown {
			d.livePath.Take(applied)
			continue
		}
		d.was.path.Put(applied, observer.Copy(d.was.value))
	}
	return applied
}

// Patch returns the operations that correct every difference that is not held
// back, and the guards that must stand before them: a test of the UID, of the
// keys and old values of what is touched, and of the resourceVersion where
// nothing less is safe. A guard that fails means that another client was faster; the
// comparison has to be made again.
func (c Comparison) Patch(uid, resourceVersion string) (guards, ops []Op) {
	guards = []Op{{Op: "test", Path: "/metadata/uid", Value: uid}}
	seen := map[string]bool{}
	versioned := false
	for _, structural := range []bool{false, true} {
		for _, d := range c.Differences {
			if d.HeldBack || d.structural != structural {
				continue
			}
			ops = append(ops, d.ops...)
			versioned = versioned || d.versioned
			for _, g := range d.guards {
				if !seen[g.Path] {
					seen[g.Path] = true
					guards = append(guards, g)
				}
			}
		}
	}
	if versioned {
		guards = append(guards, Op{Op: "test", Path: "/metadata/resourceVersion", Value: resourceVersion})
	}
	return guards, ops
}

// Remove is the removal of one value that is known to be there. Of several
// elements of one list the last comes first: their indices stay valid.
func Remove(path *observer.Path, value any) Difference {
	pointer := path.Pointer()
	return Difference{
		Path: path.String(), Reason: Removed, Observed: Some(value), livePath: path,
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: []Op{{Op: "test", Path: pointer, Value: value}},
	}
}
