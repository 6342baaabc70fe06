package tosca

import (
	"fmt"
	"slices"
	"strings"
)

// checker compares a value with a schema, and reports where they disagree. depth limits data types that contain
// themselves: values are not deeper than the files that they come from. It is a value, so that below can change it for
// a part of the value. The errors go to the session.
type checker struct {
	*evaluator

	// secret is true if messages must not contain the value. hidesKeys is true if they must not contain its keys either:
	// the keys below a sensitive name can be secret, but not the name itself.
	secret, hidesKeys bool
	// at is the position of the value, also for mistakes within it.
	at fileNode
}

// below returns the checker of a field of the value. Below a sensitive name, everything is secret.
func (c checker) below(name string) checker {
	c.hidesKeys = c.secret
	c.secret = c.secret || IsSensitive(name)
	return c
}

// fault adds an error at a path within the value, and returns false. The path is omitted if its keys can be secret.
func (c checker) fault(code Code, within, format string, args ...any) bool {
	at := c.at
	if within != "" && !c.hidesKeys {
		at.path = &trail{up: at.path, within: cut(within)}
	}
	c.faults.add(at, code, format, args...)
	return false
}

// checkConstraint reports whether a value satisfies a constraint. It reports a violation. readClause has checked the
// type of the bound. Bounds are quoted, also for a secret value: they are part of the template. Numbers with units and
// versions are compared by base, so 1024 MiB satisfies {equal: 1 GiB}.
func (c checker) checkConstraint(content any, base basis, clause constraint, within string) bool {
	if base.name == "version" && clause.at.isScalar() {
		clause.bound = clause.at.text() // 1.10 is not 1.1
	}
	c.spend(1 + sizeOf(clause.bound)/textPerStep)
	problem := ""
	switch clause.op {
	case "equal":
		if !same(content, clause.bound, base) {
			problem = "is not " + forMessage(clause.bound, false)
		}
	case "valid_values":
		if !slices.ContainsFunc(clause.bound.([]any), func(one any) bool { return same(content, one, base) }) {
			problem = "must be one of " + forMessage(clause.bound, false)
		}
	case "in_range":
		problem = inRange(content, clause.bound.([]any), base)
	case "length", "min_length", "max_length":
		problem = c.lengthProblem(content, clause)
	case "pattern":
		problem = c.patternProblem(content, clause.bound)
	case "schema":
	case "validation":
		problem = c.validationProblem(content, base, clause)
	default:
		problem = orderProblem(content, clause, base)
	}
	if problem == "" {
		return true
	}
	return c.fault(ConstraintViolation, within, "value %s %s", forMessage(content, c.secret), problem)
}

// validationProblem evaluates a validation of TOSCA 2.0, an expression in which $value is the value. It returns "" if
// the result is true or unknown.
func (c checker) validationProblem(content any, base basis, clause constraint) string {
	subject := value{any: content, size: sizeOf(content), secret: c.secret}
	result := c.eval(clause.at, scope{subject: &subject, base: base})
	if result.unknown || result.any == true {
		return ""
	}
	if result.any == false {
		return "does not satisfy its validation with " + clause.at.names()[0]
	}
	return "has a validation that is not a boolean"
}

// inRange returns the reason why a value is not in a range, or "". Both bounds are inclusive, and one can be UNBOUNDED.
// A value that has no order with a bound, such as a string with a number, is not in the range.
func inRange(content any, bounds []any, base basis) string {
	low, lowKnown := compare(content, bounds[0], base)
	high, highKnown := compare(content, bounds[1], base)
	if bounds[0] == unbounded {
		low, lowKnown = 0, true
	}
	if bounds[1] == unbounded {
		high, highKnown = 0, true
	}
	switch {
	case !lowKnown || !highKnown:
		return "cannot be compared with the range " + forMessage(bounds, false)
	case low < 0 || high > 0:
		return fmt.Sprintf("is not in range [%s, %s]", value{any: bounds[0]}.text(), value{any: bounds[1]}.text())
	}
	return ""
}

// orderProblem returns the reason why a value violates one of the four operators of order, or "".
func orderProblem(content any, clause constraint, base basis) string {
	order, known := compare(content, clause.bound, base)
	holds := map[string]bool{
		"greater_than": order > 0, "greater_or_equal": order >= 0,
		"less_than": order < 0, "less_or_equal": order <= 0,
	}
	if known && holds[clause.op] {
		return ""
	}
	return fmt.Sprintf("is not %s %s", strings.ReplaceAll(strings.Replace(clause.op, "_than", " than", 1), "_or_equal", " than or equal to"), forMessage(clause.bound, false))
}

// lengthProblem returns the reason why the length of a value is wrong, or "". The length of a string is in characters,
// not in bytes.
func (c checker) lengthProblem(content any, clause constraint) string {
	length, ok := measureLength(content)
	if !ok {
		return "has no length"
	}
	has := fmt.Sprintf("has length %d, ", length)
	if c.secret { // its length is secret, too
		has = "has a length that is "
	}
	bound := clause.bound.(int64)
	switch {
	case clause.op == "length" && length != bound:
		return fmt.Sprintf("%snot %d", has, bound)
	case clause.op == "min_length" && length < bound:
		return fmt.Sprintf("%sless than %d", has, bound)
	case clause.op == "max_length" && length > bound:
		return fmt.Sprintf("%smore than %d", has, bound)
	}
	return ""
}
