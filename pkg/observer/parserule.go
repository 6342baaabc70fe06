package observer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/expression"
	"holdfast.dev/holdfast/pkg/manifest"
)

// keysText is the key in an item of hold that closes a map or a list.
const keysText = "keys"

// rulePart reads one key of a rule into rule, or adds an error.
func (p *parser) rulePart(rule *Rule, path *Path, name string, value any) {
	if i := ruleKey(name); i >= 0 {
		RuleKeys[i].read(p, rule, path, value)
		return
	}
	p.fault(path, "is not a rule")
}

// conflict returns the reason why the parts of an item of hold contradict each other, or "" if they do not. A
// percentage and a number as bounds cannot be compared, and are a conflict, too.
func (r *Rule) conflict(said map[string]any) string {
	parts := len(said)
	if r.Minimum != nil && r.Maximum != nil {
		parts-- // one rule
	}
	_, closes := said[keysText]
	order, isComparable := compareAmounts(r.Minimum, r.Maximum)
	switch {
	case closes && r.Type == setText:
		return "keeps the elements of other clients as a set, and removes them with keys: remove type or keys"
	case closes && parts > 1:
		return "closes a map, and has a rule for one value: use a path for each"
	case r.Type != "" && parts > 1:
		return "has a rule and a type: remove one of them"
	case parts > 1:
		return "has several rules: only minimum and maximum can be combined"
	case r.Minimum != nil && r.Maximum != nil && (!isComparable || order > 0):
		return fmt.Sprintf("has a minimum of %s and a maximum of %s: no value is between them", amountText(r.Minimum), amountText(r.Maximum))
	}
	return ""
}

// noRuleFor returns the reason why a field cannot have a rule, or cannot have this one. It returns "" if it can. path
// must not be the root. A rule for all labels would apply to those of other clients. A pattern of a Secret would reveal
// its value.
// Source: docs/semantics.md, "Rules for values".
func noRuleFor(path *Path, rule *Rule, isSecret bool) string {
	chain := path.Chain()
	root := chain[0].Name()
	isMode := rule.Mode != ""
	switch {
	case isStatus(root):
		return "is below status, which is report-only: it cannot have a rule"
	case root == "metadata" && len(chain) == 2:
		return "cannot have one rule for all keys: give a rule to each key"
	case isMode && path.IsElement():
		return fmt.Sprintf("is a list element, which cannot have a mode: give a mode to its fields, or use %s", KeyMaxLength)
	case isSecret && (root == "data" || root == "stringData") && (!isMode || rule.Mode == ModePush):
		return "is a value of a Secret, which is never recorded: only the modes hold, report and absent are allowed"
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

// oneOf compiles a list of allowed values to a CEL rule: [a, b] to self in [dyn("a"), dyn("b")].
func (p *parser) oneOf(rule *Rule, path *Path, value any) {
	l, _ := value.([]any)
	texts := make([]string, len(l))
	for i, one := range l {
		texts[i] = jsonText(one)
	}
	switch {
	case len(l) == 0:
		p.fault(path, "must be a list of values")
	case slices.Contains(l, nil):
		p.fault(path, "contains null, which is not a value: for a field that may be absent, use a mode, or no rule")
	default:
		p.compiled(rule, path, "self in "+literal(l), "one of "+shorten(strings.Join(texts, ", ")))
	}
}

// compiled sets the CEL rule that a key is compiled to. words describe it after "allowed".
func (p *parser) compiled(rule *Rule, path *Path, text, words string) {
	rule.Expression, rule.words = text, words
	if err := expression.CheckRule(text); err != nil {
		p.fault(path, "%v", err)
	}
}

// literal returns a value in CEL. Elements and fields are dynamic, because CEL rejects lists with elements of several
// types.
func literal(v any) string {
	var parts []string
	switch v := v.(type) {
	case []any:
		for _, element := range v {
			parts = append(parts, "dyn("+literal(element)+")")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		for _, name := range sortedKeys(v) {
			parts = append(parts, jsonOf(name)+": dyn("+literal(v[name])+")")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return jsonOf(v) // JSON scalars are literals of CEL
}

// pattern compiles a regular expression to a CEL rule, which matches only whole strings.
func (p *parser) pattern(rule *Rule, path *Path, value any) {
	before := len(p.faults)
	text := p.expression(path, value, "a regular expression", expression.CheckPattern)
	if len(p.faults) == before {
		p.compiled(rule, path, "type(self) == string && self.matches("+jsonOf(expression.Whole(text))+")", "matching "+shorten(text))
	}
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

// word reads one of several words. what names them in messages.
func (p *parser) word(path *Path, value any, what string, words []string) string {
	text, _ := value.(string)
	if !slices.Contains(words, text) {
		p.fault(path, "must be %s, not %s", what, p.describe(value))
	}
	return text
}

// recordedRule reads the dictionary of a leaf with a rule or a type in a recorded schema.
func (p *parser) recordedRule(path *Path, m map[string]any) *Node {
	rule := &Rule{}
	for _, name := range sortedKeys(m) {
		p.rulePart(rule, path.Field(name), strings.TrimPrefix(name, keyPrefix), m[name])
	}
	return rule.node()
}

// node returns the node of a path with a rule or a type. A set has no elements yet: see declareSet. ModeHold is a leaf
// without a rule.
func (r *Rule) node() *Node {
	switch r.Type {
	case setText:
		return &Node{Shape: Sequence, List: &List{ByValue: true, Open: true}}
	case quantityText:
		return &Node{Shape: Leaf, Quantity: true}
	}
	return &Node{Shape: Leaf, Rule: r}
}

// withoutRules returns a map of a schema without the keys that are only valid in spec.fields, and reports an error that
// contains the equivalent item of spec.fields. In a recorded schema, these keys are valid.
func (p *parser) withoutRules(path *Path, m map[string]any) map[string]any {
	isRule := func(name string) bool {
		return strings.HasPrefix(name, keyPrefix) && !slices.Contains(controlKeys, name)
	}
	names := slices.DeleteFunc(sortedKeys(m), func(name string) bool { return !isRule(name) })
	if p.recorded || len(names) == 0 {
		return m
	}
	hold, free := []string{`{"path": ` + jsonOf(path.String())}, []string(nil)
	for _, name := range names {
		word, isKnown := itemKey(name)
		switch lists, isMap := m[name].(map[string]any); {
		case word == keysText && isMap:
			hold = append(hold, fmt.Sprintf(`"keys": {"hold": %s}`, jsonOf(lists["hold"])))
			patterns, _ := lists["free"].([]any)
			for _, pattern := range patterns {
				free = append(free, jsonOf(fmt.Sprintf("%s[%v]", path, pattern)))
			}
		case !isKnown:
			p.fault(path.Field(name), "is not a key of a schema")
		case p.secret && (word != "mode" || !slices.Contains(modes, fmt.Sprint(m[name]))):
			hold = append(hold, fmt.Sprintf("%q: %q", word, manifest.Masked))
		default:
			hold = append(hold, fmt.Sprintf("%q: %s", word, jsonOf(m[name])))
		}
	}
	if len(hold) > 1 {
		item := fmt.Sprintf(`{"resource": %s, "hold": [%s}]`, jsonOf(p.resource), strings.Join(hold, ", "))
		if len(free) > 0 {
			item += fmt.Sprintf(`, "free": [%s]`, strings.Join(free, ", "))
		}
		p.fault(path, "cannot have a rule or keys in a schema: remove them, and add to spec.fields: %s}", item)
	}
	fields := maps.Clone(m)
	maps.DeleteFunc(fields, func(name string, _ any) bool { return isRule(name) })
	return fields
}

// itemKey returns the key of an item of hold for a key of a schema: oneOf for observer_schema_one_of. It returns false if
// there is none.
func itemKey(name string) (string, bool) {
	name = strings.TrimPrefix(name, keyPrefix)
	if i := ruleKey(name); i >= 0 {
		return RuleKeys[i].Name, true
	}
	return name, name == keysText
}

// jsonOf returns a value in JSON.
func jsonOf(v any) string { return string(manifest.EncodeJSON(v)) }
