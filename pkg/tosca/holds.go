package tosca

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// checker holds a value against a schema. depth bounds data types that contain
// themselves: values are not deeper than the files they come from.
type checker struct {
	*library

	secret bool
	// at is where the value is written, for mistakes within it too.
	at fileNode
	// evaluate evaluates a validation of a value.
	evaluate func(clause constraint, of value, base basis) value
}

func (c checker) fault(code Code, within, format string, args ...any) {
	at := c.at
	if within != "" && !c.secret {
		at.path = &trail{up: at.path, within: cut(within)}
	}
	c.faults.add(at, code, format, args...)
}

// checkConstraint reports whether a value keeps a constraint.
func (c checker) checkConstraint(content any, base basis, clause constraint, within string) bool {
	if base.name == "version" && clause.at.isScalar() {
		clause.bound = clause.at.text() // 1.10 is not 1.1
	}
	c.spend(c.ctx, 1+sizeOf(clause.bound)/textPerStep)
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
	c.fault(ConstraintViolation, within, "value %s %s", forMessage(content, c.secret), problem)
	return false
}

// validationProblem evaluates a validation of TOSCA 2.0.
func (c checker) validationProblem(content any, base basis, clause constraint) string {
	subject := value{any: content, size: sizeOf(content), secret: c.secret}
	result := c.evaluate(clause, subject, base)
	if result.unknown || result.any == true {
		return ""
	}
	if result.any == false {
		return "does not satisfy its validation with " + clause.at.names()[0]
	}
	return "has a validation that is not a boolean"
}

func inRange(content any, bounds []any, base basis) string {
	low, lowKnown := compare(content, bounds[0], base)
	high, highKnown := compare(content, bounds[1], base)
	switch {
	case bounds[1] == unbounded && lowKnown && low >= 0, bounds[0] == unbounded && highKnown && high <= 0:
		return ""
	case !lowKnown || !highKnown:
		return "cannot be compared with the range " + forMessage(bounds, false)
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
	return fmt.Sprintf("is not %s %s", strings.ReplaceAll(strings.Replace(clause.op, "_than", " than", 1), "_or_equal", " than or equal to"), forMessage(clause.bound, false))
}

func (c checker) lengthProblem(content any, clause constraint) string {
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

func (c checker) patternProblem(content any, clause constraint) string {
	text, isText := content.(string)
	if !isText {
		return "is not text, so it cannot match a pattern"
	}
	used := c.regexps[clause.bound.(string)]
	const operations = 2000 // that take as long as a step does
	c.spend(c.ctx, 1+used.cost*len(text)/operations)
	if used.form.MatchString(text) {
		return ""
	}
	return "does not match the pattern " + forMessage(clause.bound, false)
}
