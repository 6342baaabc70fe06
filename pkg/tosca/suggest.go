package tosca

import "holdfast.dev/holdfast/internal/suggest"

// maxCompared is how many names one translation compares for suggestions. A
// template of thousands of mistakes and thousands of names would make millions.
const maxCompared = 10_000

// didYouMean suggests the name that is nearest to a mistyped one.
func (t *translator) didYouMean(typed string, names []string) string {
	if t.compared += len(names); t.compared > maxCompared {
		return ""
	}
	return suggest.DidYouMean(typed, names)
}

// near is didYouMean for names that are not there as a list yet.
func (t *translator) near(typed string, names func() []string) string {
	if t.compared > maxCompared {
		return ""
	}
	return t.didYouMean(typed, names())
}
