package delta

import (
	"encoding/json"
	"slices"

	"holdfast.dev/holdfast/pkg/observer"
)

// Reason is the cause of a difference, as one word.
type Reason string

const (
	// Changed: the live value is neither the desired value nor its accepted form.
	Changed Reason = "changed"
	// Missing: the field, or the observed list element, is missing.
	Missing Reason = "missing"
	// Extra: the list is longer than the schema allows, and this element is removed.
	Extra Reason = "extra"
	// ListLength: the list is shorter than the minimum of the schema.
	ListLength Reason = "list-length"
	// Removed: the manifest no longer has a field that the Application wrote.
	Removed Reason = "removed"
	// Unwanted: the observer schema does not allow the field.
	Unwanted Reason = "unwanted"
	// Conflicting: the API server rejects a held field while this field exists next to it.
	Conflicting Reason = "conflicting"
	// Restored: a released field gets its original value, or is removed if it had none.
	Restored Reason = "restored"
)

// Value is a JSON value that may be absent. An absent value is not the same as null.
type Value struct {
	// Set is false if the value is absent. Any is then not meaningful.
	Set bool
	// Any is the decoded JSON value: nil for null, int64 or float64 for a number.
	Any any
}

// NewValue returns a Value that is set.
func NewValue(v any) Value { return Value{Set: true, Any: v} }

// IsZero reports whether the value is absent, so that omitzero in JSON and omitempty in YAML omit it. null is written.
func (v Value) IsZero() bool { return !v.Set }

// MarshalJSON writes the value itself.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Any) }

// MarshalYAML writes the value itself.
func (v Value) MarshalYAML() (any, error) { return v.Any, nil }

// Field returns the value of a field. It is not set if the value is not a map, or if the map does not have the field.
func (v Value) Field(name string) Value {
	m, _ := v.Any.(map[string]any)
	return Member(m, name)
}

// Equal reports whether both values are absent, or both are set and equal.
func (v Value) Equal(w Value) bool {
	return v.Set == w.Set && (!v.Set || observer.Equal(v.Any, w.Any))
}

// Difference is one leaf that has drifted.
type Difference struct {
	// Path is the path of the leaf as users read it, with keys in place of indices, for example
	// spec.template.spec.containers[name=web].image.
	Path string
	// Unit is the path of the unit that is corrected as a whole if the API server rejects part of a patch:
	// see unitOf.
	Unit   string
	Reason Reason
	// Desired is not set if the value is removed. Live is not set if it is added.
	Desired, Live Value
	// HeldBack is true if the correction is deferred. The leaf is contested, its change was rejected, or it
	// does not fit in one patch with the others.
	HeldBack bool
	// Spelling is set if the live value is, or may be, equivalent to the desired value.
	Spelling observer.Spelling
	RuleResult

	// livePath is the location of Path in the live object, with indices.
	livePath   *observer.Path
	was        *previous // the value of the previous desired state, or nil
	pushed     bool      // written once for each value of the manifest
	ops        []Op      // executed in this order
	guards     []Op      // test operations, which precede all operations of the patch
	structural bool      // changes the indices of a list
	versioned  bool      // safe only for exactly the compared resourceVersion
}

// RuleResult is the decision of a rule about the correction of a leaf.
type RuleResult struct {
	// Rule is the rule of the leaf; nil if it has none. ReportOnly is true if nothing is ever written: the
	// field is report-only, or the value to write is unknown.
	Rule       *observer.Rule
	ReportOnly bool
	// Bound is true if the value to write is a bound of the rule instead of the desired value.
	Bound bool
}

// LivePath returns the path of the leaf in the live object.
func (d Difference) LivePath() *observer.Path { return d.livePath }

// Was returns the value of the previous desired state at the same path, if there is one.
func (d Difference) Was() Value {
	if d.was == nil {
		return Value{}
	}
	return NewValue(d.was.value)
}

// Op is one operation of a JSON Patch (RFC 6902).
type Op struct {
	Op    string
	Path  string
	Value any
}

// MarshalJSON includes the value of every operation that has one, even if it is null.
func (o Op) MarshalJSON() ([]byte, error) {
	text := struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value *any   `json:"value,omitempty"`
	}{o.Op, o.Path, &o.Value}
	if o.Op == "remove" {
		text.Value = nil
	}
	return json.Marshal(text)
}

// Comparison is the result of Compare.
type Comparison struct {
	// Differences are in the order of their correction.
	Differences []Difference
	// Warnings are about lists whose elements cannot be distinguished, and about list maximums that hooks
	// raise.
	Warnings []string
	// TooShort has a message for each list that is shorter than the minimum of its schema, if no further
	// element is known.
	TooShort []string
	// Rules maps paths to the rules of their leaves.
	Rules map[string]*observer.Rule
	// Outside has a message for each field that is out of bounds, if the value to write is unknown.
	Outside []string
	// Reported is the drift of report-only fields. It is never corrected.
	Reported []Difference
	// Additions are the elements that other clients added to open lists. They are kept.
	Additions []Difference
	// Held is the number of leaves that are in sync.
	Held int
	// AcceptedUsed lists the paths whose accepted form still applies, because it was recorded for exactly the
	// current desired value.
	AcceptedUsed map[string]bool
	// Found contains the accepted forms that were found without a write: see Input.Begins.
	Found Accepted
	// Left contains the dropped values that stay, because they are not the Application's: another client wrote them.
	Left []*observer.Path
	// Cut contains the dropped maps that are removed only in part.
	Cut []Cut
	// NeedsManagedFields is true if a value of unknown origin was attributed to another client, and was kept
	// when the field around it was removed.
	NeedsManagedFields bool
	// claimed is Input.Claimed.
	claimed []string
}

// Cut is a dropped map that is removed only in part, because other clients wrote Left in it. The API server may reject the
// rest.
type Cut struct {
	Path *observer.Path
	Left []*observer.Path
}

// IsInPlace reports whether there is nothing to correct, to report or to record.
func (c Comparison) IsInPlace() bool {
	return len(c.Differences)+len(c.Warnings)+len(c.TooShort)+len(c.Outside)+len(c.Reported)+len(c.AcceptedUsed)+len(c.Found)+len(c.Left) == 0 && !c.NeedsManagedFields
}

// Correctable reports whether any difference is not deferred.
func (c Comparison) Correctable() bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool { return !d.HeldBack })
}

const (
	// mostOps is the maximum number of operations in one patch. An API server accepts 10,000; the rest is
	// reserved for guards and tracking metadata.
	mostOps = 9_900
	// mostGuarded is the maximum number of operations, and longestGuards the maximum bytes of guard values,
	// of a patch that has a guard for each difference. Beyond these limits, one test of the resourceVersion
	// replaces the guards, because the API server reads at most 3 MiB.
	mostGuarded   = 5_000
	longestGuards = 64 << 10
)

// holdBackRest defers the differences that do not fit in one patch. The next comparison finds them again. The
// differences of metadata have priority, and changes of list indices are last, in the order of Patch.
func (c *Comparison) holdBackRest() {
	// The first difference is never deferred, even if it exceeds the limit. Otherwise it would never be corrected.
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

// rank returns the priority of a difference: 0 for metadata, 1 for fields, 2 for elements that change the
// indices of a list.
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

// Kept returns the desired state with the values whose removal is deferred. It becomes the previous state of
// the next attempt. It is nil if no removal is deferred. It does not change desired.
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

// Unmade returns the applied state: the desired state with the previous values of fields that are not in
// sync, if these values differ. It omits pushed fields that were attempted, because it is unknown which of
// their values was written last. attempted is true if a request was sent. The result is desired itself if nothing
// differs, and otherwise a copy.
func (c Comparison) Unmade(desired map[string]any, attempted bool) map[string]any {
	applied, copied := desired, false
	for _, d := range c.Differences {
		// Without an attempt, the recorded value is still the one that was written last.
		isUnknown := d.pushed && (attempted || d.was == nil)
		isKnown := (d.Reason == Changed || d.Reason == Missing) && d.was != nil && !d.Desired.Equal(NewValue(d.was.value))
		if !isUnknown && !isKnown {
			continue
		}
		// Usually nothing differs, and no copy is needed.
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

// Patch returns the operations that correct every difference that is not deferred, and the guards that must
// precede them. The guards test the UID, the keys and old values of the changed fields, and the
// resourceVersion if no weaker guard is safe. If a guard fails, another client was faster, and the caller
// must compare again.
func (c Comparison) Patch(uid, resourceVersion string) (guards, ops []Op) {
	guards = []Op{{Op: "test", Path: "/metadata/uid", Value: uid}}
	seen := map[string]bool{}
	versioned := false
	// Operations that move indices are last, because all paths refer to the compared object.
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
	// The resourceVersion proves all that the guards test.
	case len(guards)+len(ops) > mostGuarded || areLong(guards):
		guards = []Op{version}
	case versioned:
		guards = append(guards, version)
	}
	return guards, ops
}

// areLong reports whether the values of guards exceed longestGuards.
func areLong(guards []Op) bool {
	left := longestGuards
	for _, g := range guards {
		if left -= lengthOf(g.Value); left < 0 {
			return true
		}
	}
	return false
}

// lengthOf returns the length of the names and strings in a value, in bytes. Every other scalar counts as 1.
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

// Remove returns the difference that removes one value that exists. Remove the last of several elements of
// one list first, so that the other indices remain valid.
func Remove(path *observer.Path, value any) Difference {
	pointer := path.Pointer()
	return Difference{
		Path: path.String(), Reason: Removed, Live: NewValue(value), livePath: path,
		ops:    []Op{{Op: "remove", Path: pointer}},
		guards: []Op{{Op: "test", Path: pointer, Value: value}},
	}
}

// Accepted maps the path of a leaf to the accepted form of its value: the form that the API server gave to
// the written value.
type Accepted map[string]Form

// Form is one accepted form. It applies only while the desired value is exactly the value for which it was
// recorded.
type Form struct {
	Desired Value
	// Accepted is not set if the API server dropped the field.
	Accepted Value
}

// Dropped reports whether the API server dropped a value that is not empty. API servers omit zero and empty
// values, so dropping one of those does not indicate a typing error.
func (f Form) Dropped() bool { return !f.Accepted.Set && !observer.Empty(f.Desired.Any) }
