package observer

import (
	"fmt"
	"slices"

	"holdfast.dev/holdfast/pkg/expression"
)

// rule reads the dictionary that replaces a leaf. It never returns nil. After an error, and for ModeHold, the result is
// a leaf without a rule. Such as {observer_schema_minimum: 1, observer_schema_maximum: 5}. A map with one of these keys
// and a field is an error.
func (p *parser) rule(path *Path, m map[string]any) *Node {
	before, rule := len(p.faults), &Rule{}
	for _, name := range sortedKeys(m) {
		p.rulePart(rule, path.Field(name), name, m[name])
	}
	if text := rule.conflict(KeyMinimum, KeyMaximum); len(p.faults) == before && text != "" {
		p.fault(path, "%s", text)
	}
	if text := p.noRuleFor(path, rule); text != "" {
		p.fault(path, "%s", text)
	}
	if rule.Type == setText {
		p.fault(path, "is a leaf, and cannot be a set: end the list with %s: %s", KeyMapKeys, ByValueText)
	}
	node := &Node{Shape: Leaf}
	switch {
	case len(p.faults) > before || rule.Mode == ModeHold:
	case rule.Type != "":
		node.Quantity = true
	default:
		node.Rule = rule
	}
	return node
}

// rulePart reads one key of a rule into rule, or adds an error. AddRule calls it with the keys of spec.fields,
// translated.
func (p *parser) rulePart(rule *Rule, path *Path, name string, value any) {
	switch name {
	case KeyMinimum:
		rule.Minimum = p.amount(path, value)
	case KeyMaximum:
		rule.Maximum = p.amount(path, value)
	case KeyOneOf:
		rule.OneOf = p.oneOf(path, value)
	case KeyPattern:
		rule.Pattern = p.expression(path, value, "a regular expression", expression.CheckPattern)
	case KeyRule:
		rule.Expression = p.expression(path, value, "a CEL rule", expression.CheckRule)
	case KeyMode:
		rule.Mode = p.mode(path, value)
	case KeyType:
		if rule.Type, _ = value.(string); rule.Type != setText && rule.Type != quantityText {
			p.fault(path, "must be set or quantity, not %s", p.describe(value))
		}
	default:
		p.fault(path, "is next to a rule: a field with a rule is a leaf, and cannot contain other fields")
	}
}

// conflict returns the reason why the parts of a rule contradict each other, or "" if they do not. minimum and maximum
// are the names of the bounds in the user's syntax. A percentage and a number as bounds cannot be compared, and are a
// conflict, too.
func (r *Rule) conflict(minimum, maximum string) string {
	parts := 0
	for _, has := range []bool{len(r.Bounds(nil)) > 0, r.OneOf != nil, r.Pattern != "", r.Expression != "", r.Mode != ""} {
		if has {
			parts++
		}
	}
	if parts > 0 && r.Type != "" {
		return "has a rule and a type: remove one of them"
	}
	if parts > 1 {
		return fmt.Sprintf("has several rules: only %s and %s can be combined", minimum, maximum)
	}
	if r.Minimum == nil || r.Maximum == nil {
		return ""
	}
	if c, ok := compareAmounts(r.Minimum, r.Maximum); !ok || c > 0 {
		return fmt.Sprintf("has a minimum of %s and a maximum of %s: no value is between them", amountText(r.Minimum), amountText(r.Maximum))
	}
	return ""
}

// noRuleFor returns the reason why a field cannot have a rule, or cannot have this one. It returns "" if it can. path
// must not be the root. A rule for all labels would apply to those of other clients. A pattern of a Secret would reveal
// its value.
// Source: docs/semantics.md, "Rules for values".
func (p *parser) noRuleFor(path *Path, rule *Rule) string {
	chain := path.Chain()
	root := chain[0].Name()
	isMode := rule.Mode != ""
	switch {
	case isStatus(root):
		return "is below status, which is report-only: it cannot have a rule"
	case root == "metadata" && len(chain) == 2:
		return "cannot have one rule for all keys: give a rule to each key"
	case isMode && path.IsElement() && rule.Mode != ModeHold:
		return fmt.Sprintf("is a list element, which cannot have a mode: give a mode to its fields, or use %s", KeyMaxLength)
	case p.secret && (root == "data" || root == "stringData") && (!isMode || rule.Mode == ModePush):
		return "is a value of a Secret, which is never recorded: only the modes hold, seed, report and absent are allowed"
	}
	return ""
}

// amount checks a bound. It keeps the notation of the user, because the bound can be written to the object.
func (p *parser) amount(path *Path, value any) any {
	if _, ok := compareAmounts(value, value); !ok {
		p.fault(path, "must be a number, a quantity or a percentage, not %s", p.describe(value))
		return nil
	}
	return value
}

// oneOf checks a list of allowed values. It returns nil after an error.
func (p *parser) oneOf(path *Path, value any) []any {
	l, ok := value.([]any)
	if !ok || len(l) == 0 {
		p.fault(path, "must be a list of values")
		return nil
	}
	if slices.Contains(l, nil) {
		p.fault(path, "contains null, which is not a value: for a field that may be absent, use a mode, or no rule")
	}
	return l
}

// expression reads a pattern or a CEL rule, and compiles it with check. what names it in messages.
func (p *parser) expression(path *Path, value any, what string, check func(string) error) string {
	text, ok := value.(string)
	if !ok || text == "" {
		p.fault(path, "must be %s, not %s", what, p.describe(value))
		return ""
	}
	if err := check(text); err != nil {
		p.fault(path, "%v", err)
	}
	return text
}

// mode reads a mode. It translates the former name of ModeReport.
func (p *parser) mode(path *Path, value any) Mode {
	text, _ := value.(string)
	if text == formerReport {
		return ModeReport
	}
	if !slices.Contains(modes, Mode(text)) {
		p.fault(path, "must be one of hold, seed, push, report and absent, not %s", p.describe(value))
	}
	return Mode(text)
}
