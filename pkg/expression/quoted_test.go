package expression_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/expression"
)

// \Q quotes up to the end of a pattern, but not what matches the entire value.
func TestAPatternMayEndQuoted(t *testing.T) {
	for pattern, value := range map[string]string{`\Qa.b`: "a.b", `x|\Q(`: "(", `(?i)ab|c`: "AB", `(?m)^a$`: "a", `a$`: "a", `(?s).`: "\n"} {
		require.NoError(t, expression.CheckPattern(pattern))
		rule := fmt.Sprintf("self.matches(%q)", expression.Whole(pattern))
		for text, matches := range map[string]bool{value: true, value + "!": false} {
			budget := int64(expression.Budget)
			holds, err := expression.Evaluate(rule, text, nil, &budget)
			require.NoError(t, err)
			assert.Equal(t, matches, holds, pattern)
		}
	}
}
