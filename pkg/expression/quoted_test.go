package expression_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/expression"
)

// \Q quotes up to the end of a pattern, but not what matches the entire value.
func TestAPatternMayEndQuoted(t *testing.T) {
	for pattern, value := range map[string]string{`\Qa.b`: "a.b", `x|\Q(`: "(", `(?i)ab|c`: "AB", `(?m)^a$`: "a", `a$`: "a", `(?s).`: "\n"} {
		require.NoError(t, expression.CheckPattern(pattern))
		assert.True(t, expression.Matches(pattern, value), pattern)
		assert.False(t, expression.Matches(pattern, value+"!"), pattern)
	}
}
