package intent

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/kinds"
)

// ServedKinds are the kinds that an API server serves.
type ServedKinds struct {
	Kinds []schema.GroupVersionKind
	// Unavailable lists the groups whose kinds are not known, because their API servers do not respond. A selector
	// that can match such a group is not checked.
	Unavailable []string
}

// hasPatternKind reports whether the rule selects kinds by a pattern. Their schemas are not read, because
// there may be many.
func (r profileRule) hasPatternKind() bool {
	return slices.ContainsFunc(r.kinds, func(s v1alpha1.KindSelector) bool { return strings.Contains(s.Kind, "*") })
}

// CheckNames returns an error for each kind selector that matches no served kind, and for each path that no kind of its
// rule has. It does not check the paths of rules that select kinds by a pattern. typeOf returns the schema that the API
// server publishes for a kind, or nil if there is none. The errors are in the order of the rules.
func (p *Profile) CheckNames(served ServedKinds, typeOf func(schema.GroupVersionKind) *kinds.Node) (faults []error) {
	for i, rule := range p.rules {
		known := true
		for k, selector := range rule.kinds {
			if slices.ContainsFunc(served.Unavailable, func(group string) bool { return selectsGroup(selector, group) }) {
				known = false
			} else if err := checkServed(selector, served); err != nil {
				known = false
				faults = append(faults, fmt.Errorf("spec.rules[%d].kinds[%d]: %w", i, k, err))
			}
		}
		if known && !rule.hasPatternKind() {
			of := slices.DeleteFunc(slices.Clone(served.Kinds), func(kind schema.GroupVersionKind) bool { return !rule.isFor(kind.GroupKind()) })
			faults = append(faults, rule.checkPaths(i, of, typeOf)...)
		}
	}
	return faults
}

// checkServed returns an error if the API server serves no kind that the selector matches. It suggests a served kind
// with a similar name. A selector of all kinds matches as soon as the API server serves any kind of the group.
func checkServed(selector v1alpha1.KindSelector, served ServedKinds) error {
	var names []string
	for _, kind := range served.Kinds {
		if selects(selector, kind.GroupKind()) {
			return nil
		}
		if selectsGroup(selector, kind.Group) {
			names = append(names, kind.Kind)
		}
	}
	name := selector.Kind
	if selector.Group != nil {
		name = schema.GroupKind{Group: *selector.Group, Kind: name}.String()
	}
	return fmt.Errorf("the API server serves no kind %s%s", name, suggest.DidYouMean(selector.Kind, names))
}

// checkPaths returns an error for each path that none of the kinds has. It reports the kind with the longest
// beginning of the path. A kind without a published schema has any path. rule is the index of the rule.
func (r profileRule) checkPaths(rule int, of []schema.GroupVersionKind, typeOf func(schema.GroupVersionKind) *kinds.Node) (faults []error) {
	for k, path := range r.paths {
		deepest, missing := -1, error(nil)
		for _, kind := range of {
			if depth, err := path.Path.CheckNames(typeOf(kind)); depth > deepest {
				deepest, missing = depth, nil
				if err != nil {
					missing = fmt.Errorf("spec.rules[%d].%s: %s: %w", rule, r.places[k], kind.Kind, err)
				}
			}
		}
		if missing != nil {
			faults = append(faults, missing)
		}
	}
	return faults
}

// MayName reports whether a change of the kinds of a group can change the result of CheckNames. A selector of all
// kinds matches with any kinds, so it cannot.
func (p *Profile) MayName(group string) bool {
	return slices.ContainsFunc(p.rules, func(r profileRule) bool {
		return slices.ContainsFunc(r.kinds, func(s v1alpha1.KindSelector) bool { return s.Kind != "*" && selectsGroup(s, group) })
	})
}
