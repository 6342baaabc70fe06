package expression

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
)

// Limits of the cost of a rule, in CEL's units: the estimated worst case, one evaluation, and all
// evaluations for one object. The first is the API server's limit. The others are a tenth of the API
// server's, because cost tracking takes time that grows quadratically: 100,000 units take about 25 ms, ten
// times as many take seconds.
const (
	maxEstimate = 10_000_000
	maxCall     = 100_000
	// Budget is the cost limit of all rules of one object.
	Budget = 1_000_000
	// assumedSize is the assumed size of lists, maps and strings of unknown size.
	assumedSize = 100
	maxNesting  = 50
)

// CheckRule returns an error unless the text is a boolean CEL expression over self and object within the
// cost limit.
func CheckRule(text string) error { return rules.get(text, compileRule).err }

// Evaluate evaluates a rule and subtracts its cost from the budget, which can become negative. The error is the
// reason why the rule has no result.
func Evaluate(text string, self any, object map[string]any, budget *int64) (bool, error) {
	rule := rules.get(text, compileRule)
	switch {
	case rule.err != nil:
		return false, rule.err
	case *budget <= 0:
		return false, errors.New("the rules of this object have too high a total cost")
	}
	holds, cost, err := rule.evaluate(map[string]any{"self": self, "object": object})
	*budget -= cost
	return holds, err
}

// compiledRule is a compiled rule or predicate, or the reason why the text is invalid.
type compiledRule struct {
	// program is nil if err is set.
	program cel.Program
	err     error
	// patternSize is the size of its largest pattern: CEL counts the cost of a match after it.
	patternSize int
}

// evaluate returns the result and its cost. The error is the reason why there is no result. If CEL reports no cost,
// the maximum counts.
func (rule compiledRule) evaluate(variables map[string]any) (holds bool, cost int64, err error) {
	if rule.err != nil {
		return false, 0, rule.err
	}
	if rule.patternSize > 0 && rule.patternSize*longest(variables) > maxPatternSteps {
		return false, 0, errors.New("a value is too long for the pattern")
	}
	value, details, err := rule.program.Eval(variables)
	cost = maxCall
	if details != nil && details.ActualCost() != nil {
		cost = min(int64(*details.ActualCost()), maxCall) //nolint:gosec // it is below maxCall
	}
	if err != nil {
		return false, cost, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, cost, errors.New("the result is neither true nor false")
	}
	return holds, cost, nil
}

var rules cache[compiledRule]

// language is created on first use: most processes never evaluate a rule.
var language = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.HomogeneousAggregateLiterals(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxText),
	)
})

// ruleLanguage declares the variables self and object, which can have any type.
var ruleLanguage = sync.OnceValues(func() (*cel.Env, error) {
	env, err := language()
	if err != nil {
		return nil, err
	}
	return env.Extend(cel.Variable("self", cel.DynType), cel.Variable("object", cel.DynType))
})

func compileRule(text string) compiledRule { return compile(text, ruleLanguage) }

// compile compiles a boolean expression in a language, which it asks for only if the text is not too long. It never
// runs the expression. Every error is in the result.
func compile(text string, of func() (*cel.Env, error)) compiledRule {
	if len(text) > maxText {
		return compiledRule{err: fmt.Errorf("has %d bytes, but an expression may have %d", len(text), maxText)}
	}
	env, err := of()
	if err != nil {
		return compiledRule{err: err}
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return compiledRule{err: fmt.Errorf("is not a valid CEL expression: %s", firstIssue(issues))}
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		return compiledRule{err: fmt.Errorf("must return true or false, not the type %s", t)}
	}
	patternSize, err := checkMatches(checked)
	if err != nil {
		return compiledRule{err: err}
	}
	cost, err := env.EstimateCost(checked, sizes{})
	if err != nil || cost.Max > maxEstimate {
		return compiledRule{err: fmt.Errorf("may cost too much: up to %d steps, but an expression may take %d. Use fewer elements", cost.Max, maxEstimate)}
	}
	dropOverloads(checked)
	program, err := env.Program(checked, cel.CostTracking(costs{}), cel.CostLimit(maxCall))
	return compiledRule{program, err, patternSize}
}

// longest returns the length of the longest string in a value.
func longest(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(v)
	case map[string]any:
		for _, child := range v {
			n = max(n, longest(child))
		}
	case []any:
		for _, child := range v {
			n = max(n, longest(child))
		}
	}
	return n
}

// dropOverloads removes the overloads that the type checker selected, so that the values select them. The type checker
// selects int(int) for int(object.metadata.labels['a']), because the element of a dynamic map can have any type.
func dropOverloads(checked *cel.Ast) {
	references := checked.NativeRep().ReferenceMap()
	maps.DeleteFunc(references, func(_ int64, r *ast.ReferenceInfo) bool { return len(r.OverloadIDs) == 1 })
}

// firstIssue returns the first issue, on one line.
func firstIssue(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("%s (column %d)", strings.ReplaceAll(e.Message, "\n", " "), e.Location.Column()+1)
	}
	return issues.Err().Error()
}

// checkMatches returns the size of the largest pattern. It rejects patterns that are not constant or too large, because
// CEL underestimates their cost.
func checkMatches(checked *cel.Ast) (largest int, err error) {
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches || err != nil {
			return
		}
		args := e.AsCall().Args()
		pattern := args[len(args)-1]
		if pattern.Kind() != ast.LiteralKind {
			err = errors.New("has a computed pattern: write it as a literal")
			return
		}
		if text, ok := pattern.AsLiteral().Value().(string); ok {
			size, wrong := patternSize(text)
			if wrong != nil {
				err = fmt.Errorf("has a pattern that %w", wrong)
			}
			largest = max(largest, size)
		}
	}))
	return largest, err
}

// sizes estimates the sizes of variables, and leaves the costs of calls to CEL.
type sizes struct{}

func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: assumedSize}
}

func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// MentionsObject reports whether a rule can use more than the value itself. It errs on the side of true, for example
// if a string literal contains the word.
func MentionsObject(text string) bool { return strings.Contains(text, "object") }
