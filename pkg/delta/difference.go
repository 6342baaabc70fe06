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
	// Conflicting: the API server refuses a held field as long as this one is beside it.
	Conflicting Reason = "conflicting"
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
	Path string
	// Unit is the path of what is corrected together with it where the API server refuses
	// part of a patch: see unitOf.
	Unit          string
	Reason        Reason
	Desired, Live Value
	// HeldBack is true if the leaf is contested, or was refused, or does not fit in
	// one patch with the others, and is not corrected now.
	HeldBack bool
	// Spelling tells whether the live value is, or may be, another spelling of the desired one.
	Spelling observer.Spelling
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
	// AcceptedUsed has the paths whose accepted form still counts: it was given to
	// exactly the value that is desired now.
	AcceptedUsed map[string]bool
	// Found has the accepted forms that were found without a write: see Input.Begins.
	Found Accepted
	// NeedsManagedFields is true if something of unknown origin was taken for another client
	// else's, and left when the field around it was removed.
	NeedsManagedFields bool
}

// IsInPlace reports whether nothing differs, is in doubt, or is worth a word.
func (c Comparison) IsInPlace() bool {
	return len(c.Differences)+len(c.Warnings)+len(c.TooShort)+len(c.Outside)+len(c.Watched)+len(c.AcceptedUsed)+len(c.Found) == 0 && !c.NeedsManagedFields
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

const (
	// mostOps is how many operations are sent in one patch. An API server takes 10,000; the
	// rest is for guards and for our marks.
	mostOps = 9_900
	// mostGuarded is how many operations, and longestGuards how many bytes of values, a patch
	// has with a guard for each difference. Beyond that, one test of the resourceVersion
	// replaces the guards: the API server reads no more than 3 MiB.
	mostGuarded   = 5_000
	longestGuards = 64 << 10
)

// holdBackRest holds back what is too much for one patch: the next comparison finds it again.
// The marks of an object go first, and a list is changed in the order of Patch.
func (c *Comparison) holdBackRest() {
	left, some := mostOps, false
	for _, rank := range []int{0, 1, 2} {
		for i := range c.Differences {
			d := &c.Differences[i]
			if d.HeldBack || d.rank() != rank {
				continue
			}
			left -= len(d.ops)
			d.HeldBack = some && left < 0
			some = true
		}
	}
}

// rank returns in which place a difference is sent: with the metadata, the fields, or the
// elements that change the indices of a list.
func (d *Difference) rank() int {
	switch {
	case d.structural:
		return 2
	case isMetadata(d.livePath):
		return 0
	}
	return 1
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
		d.was.path.Set(kept, observer.Copy(d.was.value))
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
			d.livePath.Delete(applied)
			continue
		}
		d.was.path.Set(applied, observer.Copy(d.was.value))
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
	version := Op{Op: "test", Path: "/metadata/resourceVersion", Value: resourceVersion}
	switch {
	case len(guards)+len(ops) > mostGuarded || areLong(guards):
		guards = []Op{version}
	case versioned:
		guards = append(guards, version)
	}
	return guards, ops
}

// areLong reports whether guards have more than longestGuards of values.
func areLong(guards []Op) bool {
	left := longestGuards
	for _, g := range guards {
		if left -= lengthOf(g.Value); left < 0 {
			return true
		}
	}
	return false
}

// lengthOf returns how long a value is, without the punctuation of JSON.
func lengthOf(v any) int {
	switch v := v.(type) {
	case map[string]any:
		n := 0
		for name, child := range v {
			n += len(name) + lengthOf(child)
		}
		return n
	case []any:
		n := 0
		for _, child := range v {
			n += lengthOf(child)
		}
		return n
	case string:
		return len(v)
	}
	return 1
}

// Remove is the removal of one value that is known to be there. Of several
// elements of one list the last comes first: their indices stay valid.
func Remove(path *observer.Path, value any) Difference {
	pointer := path.Pointer()
	return Difference{
		Path: path.String(), Reason: Removed, Live: Some(value), livePath: path,
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: []Op{{Op: "test", Path: pointer, Value: value}},
	}
}
