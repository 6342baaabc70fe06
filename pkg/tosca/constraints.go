package tosca

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// constraint is one clause: an operator and what the value is held against.
type constraint struct {
	op    string
	at    place
	bound any
}

var operators = []string{
	"equal", "greater_than", "greater_or_equal", "less_than", "less_or_equal", "in_range", "valid_values",
	"length", "min_length", "max_length", "pattern", "schema",
}

// readConstraints reads the list of TOSCA 1.x and the function of TOSCA 2.0.
func (t *translator) readConstraints(p place) []constraint {
	var all []constraint
	list := p.get("constraints")
	if list.isMap() {
		return t.readClauses(all, list) // - a list with one element, without its dash
	}
	if t.wantList(list) {
		for _, element := range list.elements() {
			if !element.isMap() {
				t.faults.add(element, InvalidConstraint, "must be a map like {greater_than: 0}, not %s", element.describe())
				continue
			}
			all = t.readClauses(all, element)
		}
	}
	if validation := p.get("validation"); validation.exists() {
		all = t.readValidation(all, validation)
	}
	return all
}

func (t *translator) readClauses(all []constraint, p place) []constraint {
	for _, clause := range p.entries() {
		all = t.readClause(all, clause.name(), clause)
	}
	return all
}

// readClause checks an operator and its argument.
func (t *translator) readClause(all []constraint, op string, p place) []constraint {
	if !slices.Contains(operators, op) {
		t.faults.add(p, InvalidConstraint, "there is no constraint %s%s", shown(op), t.didYouMean(op, operators))
		return all
	}
	c := constraint{op: op, at: p}
	var ok bool
	if c.bound, ok = t.plainValue(p); !ok {
		return all
	}
	problem := ""
	switch op {
	case "in_range":
		if bounds, isList := c.bound.([]any); !isList || len(bounds) != 2 {
			problem = "must be a list of two bounds"
		}
	case "valid_values":
		if !isOf[[]any](c.bound) {
			problem = "must be a list"
		}
	case "length", "min_length", "max_length":
		if length, isInteger := c.bound.(int64); !isInteger || length < 0 {
			problem = "must be an integer, 0 or more"
		}
	case "pattern":
		problem = t.checkPattern(c.bound)
	}
	if problem != "" {
		t.faults.add(p, InvalidConstraint, "%s", problem)
		return all
	}
	return append(all, c)
}

// readValidation reads {$greater_than: [$value, 0]} and $and of such.
func (t *translator) readValidation(all []constraint, p place) []constraint {
	call, ok := p.only()
	op := strings.TrimPrefix(call.name(), "$")
	if !ok || !call.isList() {
		t.faults.add(p, InvalidConstraint, "must be a call like {$greater_than: [$value, 0]}")
		return all
	}
	args := call.elements()
	if op == "and" {
		for _, arg := range args {
			all = t.readValidation(all, arg)
		}
		return all
	}
	if op == "matches" {
		op = "pattern"
	}
	if len(args) != 2 || args[0].text() != "$value" || !slices.Contains(operators, op) {
		t.faults.add(call, NotSupported, "this validation is not supported: it may use $and of $equal, $greater_than, $greater_or_equal, $less_than, $less_or_equal, $in_range, $valid_values and $matches, each with $value and a constant")
		return all
	}
	return t.readClause(all, op, args[1])
}

// plainValue is a value without functions.
func (t *translator) plainValue(p place) (any, bool) {
	e := &evaluator{translator: t}
	v := e.literal(p)
	return v.any, !v.unknown
}

// constraintsOf are the constraints that a data type itself has.
func (c checker) constraintsOf(d *definition) []constraint {
	if d.constraints == nil {
		read := c.readConstraints(d.at)
		d.constraints = &read
	}
	return *d.constraints
}

// constrained tells whether a value keeps a constraint.
func (c checker) constrained(content any, base string, clause constraint, within string) bool {
	if base == "version" && clause.at.isScalar() {
		clause.bound = clause.at.text() // 1.10 is not 1.1
	}
	problem := ""
	switch clause.op {
	case "equal":
		if !same(content, clause.bound, base) {
			problem = "is not " + told(clause.bound, false)
		}
	case "valid_values":
		c.spend(c.ctx, len(clause.bound.([]any))/16)
		if !slices.ContainsFunc(clause.bound.([]any), func(one any) bool { return same(content, one, base) }) {
			problem = "is none of " + told(clause.bound, false)
		}
	case "in_range":
		problem = inRange(content, clause.bound.([]any), base)
	case "length", "min_length", "max_length":
		problem = lengthProblem(content, clause)
	case "pattern":
		problem = c.patternProblem(content, clause)
	case "schema":
	default:
		problem = orderProblem(content, clause, base)
	}
	if problem == "" {
		return true
	}
	c.fault(ConstraintViolation, within, "value %s %s", told(content, c.secret), problem)
	return false
}

func same(a, b any, base string) bool {
	if order, ok := compare(a, b, base); ok {
		return order == 0
	}
	return reflect.DeepEqual(a, b)
}

func inRange(content any, bounds []any, base string) string {
	low, lowKnown := compare(content, bounds[0], base)
	high, highKnown := compare(content, bounds[1], base)
	switch {
	case bounds[1] == unbounded && lowKnown && low >= 0, bounds[0] == unbounded && highKnown && high <= 0:
		return ""
	case !lowKnown || !highKnown:
		return "cannot be compared with the range " + told(bounds, false)
	case low < 0 || high > 0:
		return "is not in range " + rangeText(bounds)
	}
	return ""
}

func rangeText(bounds []any) string {
	return "[" + value{any: bounds[0]}.text() + ", " + value{any: bounds[1]}.text() + "]"
}

func orderProblem(content any, clause constraint, base string) string {
	order, known := compare(content, clause.bound, base)
	holds := map[string]bool{
		"greater_than": order > 0, "greater_or_equal": order >= 0,
		"less_than": order < 0, "less_or_equal": order <= 0,
	}
	if known && holds[clause.op] {
		return ""
	}
	return fmt.Sprintf("is not %s %s", strings.ReplaceAll(strings.Replace(clause.op, "_than", " than", 1), "_or_equal", " than or equal to"), told(clause.bound, false))
}

func lengthProblem(content any, clause constraint) string {
	var length int64
	switch content := content.(type) {
	case string:
		length = int64(utf8.RuneCountInString(content))
	case []any:
		length = int64(len(content))
	case map[string]any:
		length = int64(len(content))
	default:
		return "has no length"
	}
	bound := clause.bound.(int64)
	switch {
	case clause.op == "length" && length != bound:
		return fmt.Sprintf("has length %d, not %d", length, bound)
	case clause.op == "min_length" && length < bound:
		return fmt.Sprintf("has length %d, less than %d", length, bound)
	case clause.op == "max_length" && length > bound:
		return fmt.Sprintf("has length %d, more than %d", length, bound)
	}
	return ""
}
