package tosca

import (
	"slices"
	"strings"
)

// operators are the constraints of TOSCA 1.x, and the functions of TOSCA 2.0 that are the same constraints. The
// constraint schema names a JSON schema for a string, and has no effect here.
var operators = []string{
	"equal", "greater_than", "greater_or_equal", "less_than", "less_or_equal", "in_range", "valid_values",
	"length", "min_length", "max_length", "pattern", "schema",
}

// readConstraints reads the list of TOSCA 1.x and the function of TOSCA 2.0. It omits invalid constraints, which it
// reports.
//
//	constraints: [{min_length: 1}, {max_length: 9}]    TOSCA 1.x
//	constraints: {min_length: 1}                       accepted, too
//	validation: {$min_length: [$value, 1]}             TOSCA 2.0
//	validation: {$and: [{…}, {…}]}                     TOSCA 2.0: each call is a constraint
func (t *library) readConstraints(p fileNode) []constraint {
	var all []constraint
	for _, clause := range t.faults.wantMaps(p.get("constraints"), InvalidConstraint, "{greater_than: 0}") {
		all = t.readClause(all, clause.name(), clause)
	}
	if validation := p.get("validation"); validation.exists() {
		all = t.readValidation(all, validation)
	}
	return all
}

// readClause checks an operator and its argument, and appends the constraint. So checkConstraint can rely on the type
// of the bound.
//
//	operator                        bound
//	in_range                        a list of two; UNBOUNDED is allowed
//	valid_values                    a list
//	length, min_length, max_length  an integer, 0 or more
//	pattern                         a regular expression of RE2
//	the others                      any value
func (t *library) readClause(all []constraint, op string, p fileNode) []constraint {
	if !slices.Contains(operators, op) {
		t.faults.add(p, InvalidConstraint, "there is no constraint %s%s", quote(op), t.didYouMean(op, operators))
		return all
	}
	bound := t.literalOf(p, nil)
	if bound.unknown {
		return all
	}
	c := constraint{op: op, at: p, bound: bound.any}
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

// readValidation reads {$greater_than: [$value, 0]} and $and of such calls, which are constraints. Any other call is
// appended as one constraint that is evaluated.
func (t *library) readValidation(all []constraint, p fileNode) []constraint {
	called, ok := p.only()
	op, dollar := strings.CutPrefix(called.name(), "$")
	if !ok || !dollar {
		t.faults.add(p, InvalidConstraint, "must be a call like {$greater_than: [$value, 0]}")
		return all
	}
	args := called.elements()
	switch op {
	case "and":
		for _, arg := range args {
			all = t.readValidation(all, arg)
		}
		return all
	case "matches":
		op = "pattern"
	}
	// A call on $value with a constant is the constraint of TOSCA 1.x, and has its better message.
	if len(args) == 2 && args[0].text() == "$value" && slices.Contains(operators, op) && !hasCall(args[1]) {
		return t.readClause(all, op, args[1])
	}
	return append(all, constraint{op: "validation", at: p})
}

// constraintsOf returns the constraints of a data type itself, without inherited ones. It reads them once.
func (t *library) constraintsOf(d *definition) []constraint {
	if d.constraints == nil {
		read := t.readConstraints(d.at)
		d.constraints = &read
	}
	return *d.constraints
}
