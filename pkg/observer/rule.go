package observer

import (
	"fmt"
	"sync"

	"holdfast.dev/holdfast/pkg/expression"
)

// keyPrefix is the prefix of all keys that have a meaning of their own in a schema.
const keyPrefix = "observer_schema_"

// Keys of the dictionary that replaces a leaf with a rule or a type in a recorded schema.
const (
	KeyMinimum = keyPrefix + "minimum"
	KeyMaximum = keyPrefix + "maximum"
	KeyRule    = keyPrefix + "rule"
	KeyMode    = keyPrefix + "mode"
	// KeyType declares that equal amounts are equal values. Its value is quantityText.
	KeyType = keyPrefix + "type"
)

// The types of a field in spec.fields.
const (
	quantityText = "quantity"
	setText      = "set"
)

// Mode specifies when the controller writes a field.
type Mode string

// The modes of a leaf.
const (
	// ModeHold: always, as for a leaf without a rule.
	ModeHold Mode = "hold"
	// ModePush: only when the manifest's value changes.
	ModePush Mode = "push"
	// ModeReport: never; drift is reported.
	ModeReport Mode = "report"
	// ModeAbsent: the field is removed wherever it exists.
	ModeAbsent Mode = "absent"
)

// modes are the valid modes.
var modes = []string{string(ModeHold), string(ModePush), string(ModeReport), string(ModeAbsent)}

// Rule limits the values of a leaf, or sets a mode. Only one of its parts is set, except for Minimum and Maximum, which
// can be combined. A Rule is never changed. An amount keeps the notation of the user, because it can be written to the
// object: "1Gi" is not replaced by a number.
type Rule struct {
	Minimum, Maximum any // nil for none
	// Expression is a CEL expression. self is the value; object is the observed part of the object that
	// contains it.
	Expression string
	// words describe an Expression that oneOf or pattern was compiled to. A recorded rule has none.
	words string
	// Mode is never ModeHold, because that is a leaf without a rule.
	Mode Mode
	// Type is a type of a field. It is only set while a rule is parsed: the field then has no rule.
	Type string
}

// RuleContext is the input of a CEL rule in addition to the value, and the remaining evaluation cost for
// the rules of one object.
type RuleContext struct {
	// object returns the object.
	object func() map[string]any
	// budget is the remaining cost of all evaluations. Each one reduces it.
	budget int64
}

// NewRuleContext returns a context for the rules of an object: see Schema.Object. object is called once, when the first
// rule needs it.
func NewRuleContext(object func() map[string]any) *RuleContext {
	return &RuleContext{sync.OnceValue(object), expression.Budget}
}

// holds evaluates a CEL rule for a value. It returns an error if the rule fails to evaluate, or the budget is used
// up.
func (a *RuleContext) holds(rule string, self any) (bool, error) {
	var object map[string]any
	if expression.MentionsObject(rule) {
		object = a.object()
	}
	return expression.Evaluate(rule, self, object, &a.budget)
}

// Allows reports whether the rule allows a live value. It does not allow a value that cannot be compared
// with the bounds. A mode allows every value, except for ModeAbsent.
func (r *Rule) Allows(value any, around *RuleContext) bool {
	switch {
	case r.Expression != "":
		holds, err := around.holds(r.Expression, value)
		return holds && err == nil
	case r.Mode != "":
		return r.Mode != ModeAbsent
	}
	below, isAmount := r.below(value)
	return isAmount && below == 0
}

// below returns -1 for a value below the minimum, 1 for a value above the maximum, and 0 otherwise. It returns false
// if the value cannot be compared with them. The number has no meaning then.
func (r *Rule) below(value any) (int, bool) {
	if c, ok := compareAmounts(value, r.Minimum); r.Minimum != nil && (!ok || c < 0) {
		return -1, ok
	}
	if c, ok := compareAmounts(value, r.Maximum); r.Maximum != nil && (!ok || c > 0) {
		return 1, ok
	}
	return 0, true
}

// Correction returns the value to which a value out of bounds is corrected: the nearest bound, or the manifest's
// value. It returns false if there is neither. Both values can be missing. For a live value that cannot be compared
// with the bounds, it returns the manifest's value, or else the fallback.
//
//	live                     manifest    result
//	any, of a rule without bounds        the manifest's value
//	below the minimum        any         the minimum
//	above the maximum        any         the maximum
//	other, or missing        has one     the manifest's value
//	other, or missing        has none    the fallback
func (r *Rule) Correction(live any, isLive bool, written any, isWritten bool) (any, bool) {
	if r.Minimum == nil && r.Maximum == nil {
		return written, isWritten
	}
	if isLive {
		switch at, ok := r.below(live); {
		case ok && at < 0:
			return sameType(r.Minimum, live), true
		case ok && at > 0:
			return sameType(r.Maximum, live), true
		}
	}
	if isWritten {
		return written, true
	}
	return r.Fallback()
}

// Fallback returns the value to write if neither the manifest nor the live object has one: the minimum, or else the
// maximum. It returns false if the rule has no bounds. It accepts nil.
func (r *Rule) Fallback() (any, bool) {
	if r == nil || len(r.Bounds(nil)) == 0 {
		return nil, false
	}
	return r.Bounds(nil)[0], true
}

// Bounds returns the values, other than the manifest's, to which a live value can be corrected: the minimum first. The
// live value can be nil.
func (r *Rule) Bounds(live any) (bounds []any) {
	for _, bound := range []any{r.Minimum, r.Maximum} {
		if bound != nil {
			bounds = append(bounds, sameType(bound, live))
		}
	}
	return bounds
}

// String describes the allowed values in words that can follow "allowed": 1 to 5. For a mode, it returns
// the name of the mode.
//
//	1 to 5, at least 1, at most 5     bounds
//	one of a, b                       oneOf
//	matching v[0-9]+                  pattern
//	if self > 1                       any other Expression
func (r *Rule) String() string {
	switch {
	case r.Mode != "":
		return string(r.Mode)
	case r.words != "":
		return r.words
	case r.Expression != "":
		return "if " + shorten(r.Expression)
	case r.Maximum == nil:
		return "at least " + amountText(r.Minimum)
	case r.Minimum == nil:
		return "at most " + amountText(r.Maximum)
	}
	return amountText(r.Minimum) + " to " + amountText(r.Maximum)
}

// MarshalText returns the text of String, which is the form of a rule in JSON and YAML output.
func (r *Rule) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// raw returns the rule as a JSON value. Type is not part of it, because a node with a type has no rule.
func (r *Rule) raw() map[string]any {
	m := map[string]any{}
	switch {
	case r.Mode != "":
		m[KeyMode] = string(r.Mode)
	case r.Expression != "":
		m[KeyRule] = r.Expression
	}
	if r.Minimum != nil {
		m[KeyMinimum] = r.Minimum
	}
	if r.Maximum != nil {
		m[KeyMaximum] = r.Maximum
	}
	return m
}

// same reports whether two rules are equal. Both can be nil.
func (r *Rule) same(other *Rule) bool {
	return r == other || r != nil && other != nil && Equal(r.raw(), other.raw())
}

// misses returns the reason why a manifest's value violates its own rule, or "" if it does not.
func (r *Rule) misses(value any, manifest *RuleContext) string {
	var err error
	if r.Expression != "" {
		_, err = manifest.holds(r.Expression, value)
	}
	switch {
	case err != nil && expression.MentionsObject(r.Expression):
		return "" // the rule may read fields that only the live object has
	case err != nil:
		return fmt.Sprintf("is %s in the manifest, and its rule fails to evaluate for this value: %v", describe(value), err)
	case r.Allows(value, manifest):
		return ""
	case r.Mode == ModeAbsent:
		return "must be absent, but is in the manifest: remove it from the manifest, or change the mode"
	}
	return fmt.Sprintf("is %s in the manifest, which its rule (%s) does not allow: change one of them", describe(value), r)
}
