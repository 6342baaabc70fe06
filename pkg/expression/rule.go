package expression

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/overloads"
)

// What a rule may cost, in the units of CEL: at worst, as far as that can be told from its
// text; in one evaluation; and in all those for one object. The first is that of an API
// server; the others are a tenth of its, for to count a cost takes time that grows with
// the square of it: 100,000 take some 25 ms, ten times as much takes seconds.
const (
	maxEstimate = 10_000_000
	maxCall     = 100_000
	// Budget is what all rules of one object may cost together.
	Budget = 1_000_000
	// assumedSize is that of a list, a map or a text whose size nobody knows beforehand.
	assumedSize = 100
	maxNesting  = 50
)

// CheckRule refuses what is no rule over self and object, is not true or false, or may cost
// too much.
func CheckRule(text string) error { return rules.get(text, compileRule).err }

// Holds evaluates a rule, and takes what that costs off a budget. The error says why a rule
// cannot tell.
func Holds(text string, self any, object map[string]any, budget *int64) (bool, error) {
	rule := rules.get(text, compileRule)
	switch {
	case rule.err != nil:
		return false, rule.err
	case *budget <= 0:
		return false, errors.New("the rules of this object cost too much together")
	}
	value, details, err := rule.program.Eval(map[string]any{"self": self, "object": object})
	*budget -= maxCall
	if details != nil && details.ActualCost() != nil {
		*budget += maxCall - min(int64(*details.ActualCost()), maxCall) //nolint:gosec // it is below maxCall
	}
	if err != nil {
		return false, err
	}
	holds, ok := value.Value().(bool)
	if !ok {
		return false, errors.New("it is neither true nor false")
	}
	return holds, nil
}

type compiledRule struct {
	program cel.Program
	err     error
}

var rules cache[compiledRule]

// language is made when the first rule is read: most processes never do.
var language = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("self", cel.DynType), cel.Variable("object", cel.DynType),
		cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true), cel.HomogeneousAggregateLiterals(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		cel.ParserRecursionLimit(maxNesting), cel.ParserExpressionSizeLimit(maxText),
	)
})

func compileRule(text string) (rule compiledRule) {
	if len(text) > maxText {
		rule.err = fmt.Errorf("has %d bytes, and a rule may have %d", len(text), maxText)
		return rule
	}
	env, err := language()
	if err != nil {
		rule.err = err
		return rule
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		rule.err = fmt.Errorf("is no rule in CEL: %s", firstOf(issues))
		return rule
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		rule.err = fmt.Errorf("is neither true nor false: it is of type %s", t)
		return rule
	}
	if rule.err = checkMatches(checked); rule.err != nil {
		return rule
	}
	cost, err := env.EstimateCost(checked, sizes{})
	if err != nil || cost.Max > maxEstimate {
		rule.err = fmt.Errorf("may cost too much: up to %d steps, and a rule may take %d. Look at fewer elements in it", cost.Max, maxEstimate)
		return rule
	}
	rule.program, rule.err = env.Program(checked, cel.EvalOptions(cel.OptTrackCost), cel.CostLimit(maxCall))
	return rule
}

// firstOf is the first mistake, on one line.
func firstOf(issues *cel.Issues) string {
	for _, e := range issues.Errors() {
		return fmt.Sprintf("%s (column %d)", strings.ReplaceAll(e.Message, "\n", " "), e.Location.Column()+1)
	}
	return issues.Err().Error()
}

// checkMatches refuses patterns that cannot be checked, or are too large: their cost is not
// what CEL takes it for.
func checkMatches(checked *cel.Ast) (err error) {
	ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches || err != nil {
			return
		}
		args := e.AsCall().Args()
		pattern := args[len(args)-1]
		if pattern.Kind() != ast.LiteralKind {
			err = errors.New("has a pattern that is made by the rule: write it out")
			return
		}
		if text, ok := pattern.AsLiteral().Value().(string); ok {
			if wrong := CheckPattern(text); wrong != nil {
				err = fmt.Errorf("has a pattern that %w", wrong)
			}
		}
	}))
	return err
}

// sizes estimates the sizes of what is not in the rule itself.
type sizes struct{}

func (sizes) EstimateSize(checker.AstNode) *checker.SizeEstimate {
	return &checker.SizeEstimate{Min: 0, Max: assumedSize}
}

func (sizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// MentionsObject reports whether a rule looks at more than the value itself.
func MentionsObject(text string) bool { return strings.Contains(text, "object") }
