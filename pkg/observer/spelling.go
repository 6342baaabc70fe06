package observer

import (
	"time"

	"holdfast.dev/holdfast/pkg/kinds"
)

// Spelling is the result of a comparison of two values that may be two spellings of one value. The constants are in
// ascending order, so that min returns the result for a value with several parts.
type Spelling int

const (
	// Different values are not spellings of one value.
	Different Spelling = iota
	// MaybeRespelled values may be spellings of one value, but their types are unknown.
	MaybeRespelled
	// Respelled values are equal for the API server.
	Respelled
)

// SpellingOf compares the stored form of a desired value with a live value. Lists are equal if each live
// element has all fields of the desired one, because the API server sets defaults in elements. isTyped is
// false if the stored form is unknown; want is then the value in the manifest.
//
//	want       live       typed        untyped
//	1000m      1          Different    MaybeRespelled
//	5m         300s       Different    MaybeRespelled
//	""         absent     Different    MaybeRespelled, in a map
//	{a: 1}     {a: 1}     Respelled    Respelled
//
// With types, want is already in the form that the API server stores, so nothing is left to guess.
func SpellingOf(t *kinds.Node, isTyped bool, want, live any) Spelling {
	return speller{isTyped}.compare(t, want, live, false)
}

// speller compares two values. isTyped is true if want is the stored form, in which nothing is left to guess.
type speller struct{ isTyped bool }

// compare returns the worst result of all values below. inList is true below a list element, where the live map can
// have more fields.
func (s speller) compare(t *kinds.Node, want, live any, inList bool) Spelling {
	switch want := want.(type) {
	case map[string]any:
		if live, ok := live.(map[string]any); ok {
			return s.fields(t, want, live, inList)
		}
	case []any:
		if live, ok := live.([]any); ok && len(live) == len(want) {
			return s.elements(t, want, live)
		}
	}
	switch {
	case Equal(want, live):
		return Respelled
	// Without types, an empty value may be one that the API server dropped or set.
	case !s.isTyped && (Empty(want) && Empty(live) || isSameAmount(want, live)):
		return MaybeRespelled
	}
	return Different
}

// fields compares two maps. Without types, an empty value of want can be absent in live.
func (s speller) fields(t *kinds.Node, want, live map[string]any, inList bool) Spelling {
	spelling := Respelled
	for name, v := range want {
		have, ok := live[name]
		switch {
		case ok:
			spelling = min(spelling, s.compare(t.Field(name), v, have, inList))
		case !s.isTyped && Empty(v):
			spelling = min(spelling, MaybeRespelled)
		default:
			return Different
		}
	}
	for name := range live {
		// Selectors and maps with arbitrary keys have no defaults.
		if _, ok := want[name]; !ok && (!inList || t != nil && (t.IsOneValue() || !t.Names(name))) {
			return Different
		}
	}
	return spelling
}

// elements compares two lists of equal length. The order of sets and lists with keys has no effect.
func (s speller) elements(t *kinds.Node, want, live []any) Spelling {
	spelling := Respelled
	for i, k := range (&List{}).Identities(t, want, live) {
		if k < 0 {
			return Different
		}
		spelling = min(spelling, s.compare(t.Elem(), want[i], live[k], true))
	}
	return spelling
}

// isSameAmount reports whether two scalars are equal as quantities, durations or times.
func isSameAmount(a, b any) bool {
	if order, ok := compareAmounts(a, b); ok {
		return order == 0
	}
	x, y, areTexts := bothOf[string](a, b)
	if !areTexts {
		return false
	}
	if d, err := time.ParseDuration(x); err == nil {
		e, err := time.ParseDuration(y)
		return err == nil && d == e
	}
	if at, err := time.Parse(time.RFC3339, x); err == nil {
		other, err := time.Parse(time.RFC3339, y)
		return err == nil && at.Equal(other)
	}
	return false
}
