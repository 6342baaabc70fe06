package expression_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/expression"
)

func Example() {
	budget := int64(expression.Budget)
	object := map[string]any{"spec": map[string]any{"most": int64(5)}}
	holds, err := expression.Evaluate("self <= object.spec.most", int64(3), object, &budget)
	fmt.Println(holds, err)
	// Output: true <nil>
}

func TestCheckRuleRejectsExpensiveRules(t *testing.T) {
	list := "[" + strings.Repeat("1,", 99) + "1]"
	for _, row := range []struct{ name, rule, message string }{
		{"of a megabyte", strings.Repeat("self || ", 1<<17) + "self", "has 1048580 bytes, but an expression may have 4096"},
		{"of parentheses", strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000), "is not a valid CEL expression"},
		{"that look at elements of elements of elements", "self.all(a, self.all(b, self.all(c, self.all(d, a + b + c + d > 0))))", "may cost too much"},
		{"with lists of their own", fmt.Sprintf("%[1]s.all(a, %[1]s.all(b, %[1]s.all(c, %[1]s.all(d, a == d))))", list), "may cost too much"},
		{"with a large pattern", `self.matches('(\\pL[a-z]abcdef){1000}')`, "compiles to more than 5000 steps"},
		{"with a pattern of an object", "self.matches(object.spec.pattern)", "write it as a literal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := expression.CheckRule(row.rule)
			require.ErrorContains(t, err, row.message)
			assert.Less(t, len(err.Error()), 1024)
			assert.Equal(t, err, expression.CheckRule(row.rule), "and evaluation stops early")
		})
	}
}

func TestEvaluateStopsAtCostLimit(t *testing.T) {
	const rule = "self.all(a, self.all(b, a + b > 0))" // cheap for a hundred elements, expensive for many
	require.NoError(t, expression.CheckRule(rule))
	var many []any
	for i := range 5000 {
		many = append(many, int64(i+1))
	}
	budget := int64(expression.Budget)
	_, err := expression.Evaluate(rule, many[:100], nil, &budget)
	require.NoError(t, err)
	for range 100 {
		if _, err = expression.Evaluate(rule, many, nil, &budget); budget <= 0 {
			break
		}
		require.ErrorContains(t, err, "cost limit exceeded")
	}
	_, err = expression.Evaluate(rule, many[:1], nil, &budget)
	assert.ErrorContains(t, err, "too high a total cost", "all rules of an object have one budget")
}

func TestEvaluate(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"tier": "gold", "most": "4"}},
		"spec":     map[string]any{"list": []any{int64(1), 2.5, "x", nil, true}},
	}
	for _, row := range []struct {
		rule  string
		self  any
		holds bool
		fails bool
	}{
		{"self > 1", int64(2), true, false},
		{"self > 1", 1.5, true, false},
		{"self == 1.0", int64(1), true, false},
		{"self > 1", "2", false, true},
		{"self", "yes", false, true},
		{"self", true, true, false},
		{"self.a.b[0] == 'c'", map[string]any{"a": map[string]any{"b": []any{"c"}}}, true, false},
		{"has(self.a) && self.a", map[string]any{}, false, false},
		{"object.metadata.labels.tier == 'gold' && size(object.spec.list) == 5", nil, true, false},
		{"object.spec.none == 1", nil, false, true},
		{"self <= int(object.metadata.labels['most'])", int64(3), true, false},
		{"self <= int(object.metadata.labels['most'])", int64(5), false, false},
		{"int(object.metadata.labels['tier']) == 1", nil, false, true},
		{"self.matches('^v[0-9]+$')", "v1", true, false},
		{"duration(self) <= duration('1h')", "30m", true, false},
		{"self / 0 == 1", int64(1), false, true},
	} {
		budget := int64(expression.Budget)
		holds, err := expression.Evaluate(row.rule, row.self, object, &budget)
		assert.Equal(t, row.holds, holds, row.rule)
		assert.Equal(t, row.fails, err != nil, "%s: %v", row.rule, err)
		assert.Less(t, budget, int64(expression.Budget), row.rule)
	}
}

func TestEvaluateLimitsTheStepsOfAPattern(t *testing.T) {
	const rule = "self.matches('^(a|aa|b{500})*$')"
	for length, message := range map[int]string{100: "", 1 << 20: "a value is too long for the pattern"} {
		budget := int64(expression.Budget)
		holds, err := expression.Evaluate(rule, strings.Repeat("a", length), nil, &budget)
		assert.Equal(t, message == "", holds && err == nil)
		if message != "" {
			assert.ErrorContains(t, err, message)
		}
	}
}

func TestHolds(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{"generation": int64(2)},
		"data":     map[string]any{"mode": "on"},
		"status": map[string]any{
			"phase": "Running", "observedGeneration": "2", "big": strings.Repeat("a", 1<<20),
			"conditions": []any{map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Stalled", "status": "False"}},
		},
	}
	for _, row := range []struct {
		text  string
		holds bool
		err   string
	}{
		{"status.phase == 'Running'", true, ""},
		{"status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')", true, ""},
		{"status.conditions.exists(status, status.type == 'Ready') && status.phase != ''", true, ""},
		{"status.?conditions.orValue([]).exists(c, c.type == 'Ready' && c.status == 'False')", false, ""},
		{"status.?message.hasValue() || has(status.message)", false, ""},
		{"status.observedGeneration == string(metadata.generation)", true, ""},
		{"status.phase.lowerAscii() in ['running'] && sets.contains(['on'], [data.mode])", true, ""},
		{"type(status.phase) == string", true, ""},
		{"status.message == ''", false, "no such key: message"},
		{"spec.replicas == 1", false, "no such attribute(s): spec"},
		{"status.phase", false, "neither true nor false"},
		{"status.phase > 1", false, "no such overload"},
		{"status.big.split('').all(a, status.big.lowerAscii() != a)", false, "cost limit exceeded"},
	} {
		require.NoError(t, expression.CheckPredicate(row.text), row.text)
		holds, err := expression.Holds(row.text, object)
		assert.Equal(t, row.holds, holds, "%s: %v", row.text, err)
		if row.err != "" {
			assert.ErrorContains(t, err, row.err, row.text)
		}
	}
}

func TestCheckPredicateRejects(t *testing.T) {
	for _, row := range []struct{ text, message string }{
		{"status.phase ==", "is not a valid CEL expression: Syntax error"},
		{"status.ready()", "is not a valid CEL expression: undeclared reference to 'ready'"},
		{"'ready'", "must return true or false, not the type string"},
		{"status.a.replace('a', status.b) == ''", "calls replace, which may cost too much"},
		{"status.a.exists(a, a.indexOf('x') > 0)", "calls indexOf, which may cost too much"},
		{strings.Repeat("a", 5000), "has 5000 bytes, but an expression may have 4096"},
	} {
		require.ErrorContains(t, expression.CheckPredicate(row.text), row.message, row.text)
		_, err := expression.Holds(row.text, map[string]any{"status": map[string]any{}})
		assert.Error(t, err, row.text)
	}
}

func FuzzRule(f *testing.F) {
	for _, seed := range []string{"self > 1", "object.a.b == self", "self.matches('a{3}')", "[1,2].all(x, x < self)", "self == {'a': [1]}"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, rule string) {
		budget := int64(expression.Budget)
		if expression.CheckRule(rule) == nil {
			_, _ = expression.Evaluate(rule, int64(3), map[string]any{"a": []any{"b"}}, &budget)
		}
		if expression.CheckPredicate(rule) == nil {
			_, _ = expression.Holds(rule, map[string]any{"self": "b", "object": map[string]any{"a": []any{"b"}}})
		}
	})
}
