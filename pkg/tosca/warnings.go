package tosca

import "slices"

// sortedWarnings are the warnings by place, each once.
func (t *translator) sortedWarnings() []Warning {
	slices.SortStableFunc(t.warnings, func(a, b Warning) int { return byPlace(&a, &b) })
	return slices.Compact(t.warnings)
}
