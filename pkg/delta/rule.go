package delta

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/observer"
)

// compareRule compares a leaf that has a rule:
//
//	rule                       in sync                            else written
//	minimum, maximum           within the bounds                  the nearest bound
//	rule                       if the rule allows the value       the manifest's value
//	push                       while the manifest's value is      the manifest's value
//	                           the value written last
//	report                     always
//	absent                     if the field is missing            nothing: it is removed
//
// If the value is out of bounds and the value to write is unknown, it is only reported.
// Source: docs/semantics.md, "Rules for values".
func (c ruleComparer) compareRule(s cursor) {
	rule := s.node.Rule
	if c.out.Rules == nil {
		c.out.Rules = map[string]*observer.Rule{}
	}
	c.out.Rules[s.path.String()] = rule
	if s.desired.Set {
		// The forms of all values that may be written remain recorded, even while another value is allowed.
		formFinder(c).acceptedForm(s.path, s.desired)
	}
	for _, bound := range rule.Bounds(s.live.Any) {
		formFinder(c).acceptedForm(s.path, NewValue(bound))
	}
	switch rule.Mode {
	case observer.ModeReport:
		c.watch(s)
	case observer.ModePush:
		c.push(s)
	case observer.ModeAbsent:
		if !s.live.Set {
			c.inPlace(s, StateAbsent)
			return
		}
		c.removeAbsent(s, Unwanted)
	default:
		c.compareAllowed(s)
	}
}

// compareAllowed compares a leaf whose rule limits the allowed values. An accepted form is in sync even if the rule
// does not allow it: a webhook changed the correction, and would change it again.
func (c ruleComparer) compareAllowed(s cursor) {
	rule := s.node.Rule
	if s.live.Set && rule.Allows(s.live.Any, c.ruleContext) {
		c.inPlace(s, StateAllowed)
		return
	}
	value, known := rule.Correction(s.live.Any, s.live.Set, s.desired.Any, s.desired.Set)
	switch {
	case known && formFinder(c).accepted(s.path, s.t, NewValue(value), s.live):
		c.inPlace(s, StateAccepted)
	case known && !s.orphan && !NewValue(value).Equal(s.live):
		c.correct(s, value, Difference{RuleResult: RuleResult{Bound: !NewValue(value).Equal(s.desired)}})
	default:
		c.outside(s)
	}
}

// outside reports a value that is out of bounds, if the value to write is unknown.
func (c ruleComparer) outside(s cursor) {
	d := Difference{Reason: Changed, Live: s.live, RuleResult: RuleResult{Rule: s.node.Rule, ReportOnly: true}, Path: s.path.String(), livePath: s.path}
	is := "is"
	if !s.live.Set {
		d.Reason, is = Missing, "is absent,"
	}
	c.out.Outside = append(c.out.Outside, fmt.Sprintf("%s %s outside of its rule (%s)", d.Path, is, s.node.Rule))
	c.visitField(s, StateAllowed, &d)
}

// push writes the manifest's value if it differs from the value that was written last. It only visits the field if
// the parent map is missing, or if the live value is the manifest's anyway.
func (c ruleComparer) push(s cursor) {
	switch {
	case !s.restored(), s.orphan, s.live.Set && observer.Same(s.t, s.desired.Any, s.live.Any):
		c.visitField(s, StatePushed, nil)
	case formFinder(c).accepted(s.path, s.t, s.desired, s.live):
		c.visitField(s, StateAccepted, nil)
	default:
		c.correct(s, s.desired.Any, Difference{was: wasOf(s), pushed: true})
	}
}

// watch reports the drift of a report-only field. Without a value in the manifest, there is no drift.
func (c ruleComparer) watch(s cursor) {
	isSame := s.live.Set && observer.Same(s.t, s.desired.Any, s.live.Any)
	isSame = isSame || c.in.CompareOnly && s.desired.Set && formFinder(c).spelling(s, s.desired.Any) == observer.Respelled
	if !s.desired.Set || isSame || formFinder(c).accepted(s.path, s.t, s.desired, s.live) {
		c.visitField(s, StateReported, nil)
		return
	}
	d := Difference{Reason: Changed, Desired: s.desired, Live: s.live, RuleResult: RuleResult{Rule: s.node.Rule, ReportOnly: true}, Path: s.path.String(), livePath: s.path}
	if !s.live.Set {
		d.Reason = Missing
	}
	c.out.Reported = append(c.out.Reported, d)
	c.visitField(s, StateReported, &d)
}

// removeAbsent removes a field that is not allowed, with everything below it. s.node is nil if the schema does not
// name the field.
func (c ruleComparer) removeAbsent(s cursor, why Reason) {
	d := removal(s, why)
	if s.node != nil {
		d.Rule = s.node.Rule
	}
	c.visitField(s, StateRemoved, c.add(s.path, d))
}

// correct writes a value, whether the field exists or is missing. as contains the fields of the difference that
// depend on the rule.
func (c *comparer) correct(s cursor, value any, as Difference) {
	d := correction(s, value)
	d.Rule, d.Bound, d.was, d.pushed = s.node.Rule, as.Bound, as.was, as.pushed
	c.visitField(s, s.state(), c.add(s.path, d))
}
