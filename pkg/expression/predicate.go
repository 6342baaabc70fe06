package expression

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// CheckPredicate returns an error unless the text is a boolean CEL expression within the cost limit. Its
// variables are the top-level fields of an object, with any names.
func CheckPredicate(text string) error { return predicates.get(text, compilePredicate).err }

// Holds evaluates a predicate. The error is the reason why the predicate has no result, for example a field
// that the object lacks.
func Holds(text string, object map[string]any) (bool, error) {
	holds, _, err := predicates.get(text, compilePredicate).evaluate(object)
	return holds, err
}

var predicates cache[compiledRule]

// predicateLanguage provides the functions of the expressions of Flux. It declares no variables: see namesOf.
var predicateLanguage = sync.OnceValues(func() (*cel.Env, error) {
	env, err := language()
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
})

// expensive are the functions whose result, or time, is the product of the lengths of two strings.
var expensive = []string{"replace", "format", "join", "indexOf", "lastIndexOf"}

// compilePredicate compiles a predicate in a language with a variable for each name in it, because the fields of an
// object are not known here.
func compilePredicate(text string) compiledRule {
	return compile(text, func() (*cel.Env, error) {
		env, err := predicateLanguage()
		if err != nil {
			return nil, err
		}
		parsed, issues := env.Parse(text)
		if issues.Err() == nil { // otherwise compile finds the issues again
			variables, call := namesOf(env, parsed)
			if call != "" {
				return nil, fmt.Errorf("calls %s, which may cost too much: use matches, contains, startsWith or endsWith", call)
			}
			return env.Extend(variables...)
		}
		return env, nil
	})
}

// namesOf returns the names that may be variables, and a call of an expensive function, or "". The variable of a
// macro hides one of the same name.
func namesOf(env *cel.Env, parsed *cel.Ast) (variables []cel.EnvOption, call string) {
	known := map[string]bool{}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			known[e.AsComprehension().AccuVar()] = true
		case ast.CallKind:
			if name := e.AsCall().FunctionName(); e.AsCall().IsMemberFunction() && slices.Contains(expensive, name) {
				call = name
			}
		case ast.IdentKind:
			name := e.AsIdent()
			_, isType := env.CELTypeProvider().FindIdent(name)
			if !known[name] && !isType && !strings.HasPrefix(name, "@") {
				variables = append(variables, cel.Variable(name, cel.DynType))
			}
			known[name] = true
		}
	}))
	return variables, call
}

// costs adds the lengths of strings to the cost of functions that CEL counts as one step.
type costs struct{}

// CallCost implements the cost estimator of CEL. It returns nil for the default cost. The unit is ten bytes, as for
// other functions on strings.
func (costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	switch function {
	case "charAt", "lowerAscii", "upperAscii", "split", "substring", "trim", "reverse", "strings.quote", "base64.encode", "base64.decode":
	default:
		return nil
	}
	cost := 1 + length(result)/10
	for _, value := range args {
		cost += length(value) / 10
	}
	return &cost
}

// length returns the number of bytes in a string or in bytes, and 0 for other values.
func length(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v))
	case types.Bytes:
		return uint64(len(v))
	}
	return 0
}
