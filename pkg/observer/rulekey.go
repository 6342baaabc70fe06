package observer

import (
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/expression"
)

// RuleKey is a key in an item of hold that limits a value, or sets a mode or a type. v1alpha1.HeldField has a field for
// each, and `holdfast hold` a flag.
type RuleKey struct {
	// Name is the key in spec.fields. Flag and Usage are the name and the help text of the flag.
	Name, Flag, Usage string
	// IsText is true for a key with a string as its value, and IsList for one with a list. Others have any JSON value.
	IsText, IsList bool
	// read sets the part of a rule that a value describes, or adds an error to the parser.
	read func(p *parser, rule *Rule, path *Path, value any)
}

// RuleKeys are the keys, in the order of the documentation. A new rule is an entry here, and a field of the API. Its
// values are compiled to a CEL rule, which records contain instead, so an earlier version can read them.
var RuleKeys = []RuleKey{
	{Name: "minimum", Flag: "minimum", Usage: "`VALUE`: smallest allowed value: a number, a quantity or a percentage",
		read: func(p *parser, rule *Rule, path *Path, value any) { rule.Minimum = p.amount(path, value) }},
	{Name: "maximum", Flag: "maximum", Usage: "`VALUE`: largest allowed value",
		read: func(p *parser, rule *Rule, path *Path, value any) { rule.Maximum = p.amount(path, value) }},
	{Name: "oneOf", Flag: "one-of", IsList: true, Usage: "`VALUE`: allowed value, as in YAML; can be repeated", read: (*parser).oneOf},
	{Name: "pattern", Flag: "pattern", IsText: true, Usage: "`EXPRESSION`: regular expression (RE2) that the entire value must match", read: (*parser).pattern},
	{Name: "rule", Flag: "rule", IsText: true, Usage: "`EXPRESSION`: CEL expression over self, the value, and object",
		read: func(p *parser, rule *Rule, path *Path, value any) {
			rule.Expression = p.expression(path, value, "a CEL rule", expression.CheckRule)
		}},
	{Name: "mode", Flag: "mode", IsText: true,
		Usage: "`MODE`: hold (always), push (write when the manifest changes), report (only report drift), or absent (remove)",
		read: func(p *parser, rule *Rule, path *Path, value any) {
			rule.Mode = Mode(p.word(path, value, "one of hold, push, report and absent", modes))
		}},
	{Name: "type", Flag: "type", IsText: true,
		Usage: "`TYPE`: set (hold list elements by their values, and keep those of other clients) or quantity (1Gi equals 1024Mi)",
		read: func(p *parser, rule *Rule, path *Path, value any) {
			rule.Type = p.word(path, value, "set or quantity", []string{setText, quantityText})
		}},
}

// ruleKey returns the index of the key with a name, or -1. The name can be written as in a schema: one_of for oneOf.
func ruleKey(name string) int {
	return slices.IndexFunc(RuleKeys, func(key RuleKey) bool { return strings.EqualFold(key.Name, strings.ReplaceAll(name, "_", "")) })
}

// hasRuleKey reports whether a map in a recorded schema replaces a leaf.
func hasRuleKey(m map[string]any) bool {
	return slices.ContainsFunc(RuleKeys, func(key RuleKey) bool { _, has := m[keyPrefix+key.Name]; return has })
}
