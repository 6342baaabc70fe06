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

// readValidation reads {$greater_than: [$value, 0]} and $and of such, which are
// constraints, and takes any other call as it is.
func (t *translator) readValidation(all []constraint, p place) []constraint {
	called, ok := p.only()
	op, dollar := strings.CutPrefix(called.name(), "$")
	if !ok || !dollar {
		t.faults.add(p, InvalidConstraint, "must be a call like {$greater_than: [$value, 0]}")
		return all
	}
	args := called.elements()
	switch {
	case op == "and":
		for _, arg := range args {
			all = t.readValidation(all, arg)
		}
		return all
	case op == "matches":
		op = "pattern"
	case op == "in_range" && t.lenient:
		t.warn(called, "TOSCA 2.0 has no $in_range: write $and with $greater_or_equal and $less_or_equal")
	}
	if len(args) == 2 && args[0].text() == "$value" && slices.Contains(operators, op) && !hasCall(args[1]) {
		return t.readClause(all, op, args[1])
	}
	if t.checkCalls(p) {
		all = append(all, constraint{op: "validation", at: p})
	}
	return all
}

// hasCall reports whether there is a call of a function in a value.
func hasCall(p place) bool {
	if only, single := p.only(); single && strings.HasPrefix(only.name(), "$") {
		return true
	}
	return strings.HasPrefix(p.text(), "$") || slices.ContainsFunc(append(p.elements(), p.entries()...), hasCall)
}

// checkCalls refuses calls of functions that there are not.
func (t *translator) checkCalls(p place) bool {
	ok := true
	if only, single := p.only(); single {
		name, isCall := strings.CutPrefix(only.name(), "$")
		if _, isOperation := operations[name]; isCall && !isOperation && functionOf(name) == nil && !slices.Contains(unsupported, name) && name != "value" && !t.isDeclared(call{name, only}) && !strings.HasPrefix(name, "$") {
			t.faults.add(only, UnknownFunction, "there is no function %s%s", shown("$"+name), t.didYouMean("$"+name, dollarNames()))
			ok = false
		}
	}
	for _, part := range append(p.elements(), p.entries()...) {
		ok = t.checkCalls(part) && ok
	}
	return ok
}

// plainValue is a value without functions.
func (t *translator) plainValue(p place) (any, bool) {
	e := &evaluator{translator: t}
	v := e.literal(p)
	return v.any, !v.unknown
}

// constraintsOf are the constraints that a data type itself has.
func (t *translator) constraintsOf(d *definition) []constraint {
	if d.constraints == nil {
		read := t.readConstraints(d.at)
		d.constraints = &read
	}
	return *d.constraints
}

// constrained tells whether a value keeps a constraint.
func (c checker) constrained(content any, base basis, clause constraint, within string) bool {
	if base.name == "version" && clause.at.isScalar() {
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
	case "validation":
		problem = c.validationProblem(content, base, clause)
	default:
		problem = orderProblem(content, clause, base)
	}
	if problem == "" {
		return true
	}
	c.fault(ConstraintViolation, within, "value %s %s", told(content, c.secret), problem)
	return false
}

// validationProblem evaluates a validation of TOSCA 2.0.
func (c checker) validationProblem(content any, base basis, clause constraint) string {
	subject := value{any: content, size: sizeOf(content), secret: c.secret}
	result := c.eval(clause.at, scope{subject: &subject, base: base})
	if result.unknown || result.any == true {
		return ""
	}
	if result.any == false {
		return "does not satisfy its validation with " + clause.at.names()[0]
	}
	return "has a validation that is no boolean"
}

func same(a, b any, base basis) bool {
	if order, ok := compare(a, b, base); ok {
		return order == 0
	}
	return reflect.DeepEqual(a, b)
}

func inRange(content any, bounds []any, base basis) string {
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

func orderProblem(content any, clause constraint, base basis) string {
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
