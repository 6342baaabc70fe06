package tosca_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

func TestOperations(t *testing.T) {
	for _, row := range []struct {
		call string
		want any
	}{
		{"{$and: [true, true]}", true},
		{"{$and: [true, false]}", false},
		{"{$or: [false, true]}", true},
		{"{$xor: [true, true]}", false},
		{"{$not: [false]}", true},
		{"{$equal: [1, 1.0]}", true},
		{"{$equal: [[1, a], [1, a]]}", true},
		{"{$less_than: [a, b]}", true},
		{"{$greater_or_equal: [2, 2]}", true},
		{"{$valid_values: [b, [a, b]]}", true},
		{"{$length: [héé]}", int64(3)},
		{"{$length: {a: 1, b: 2}}", int64(2)},
		{"{$has_prefix: [[1, 2, 3], [1, 2]]}", true},
		{"{$has_suffix: [abc, bc]}", true},
		{"{$has_suffix: [[1, 2], [1]]}", false},
		{"{$contains: [[1, 2, 3], [2, 3]]}", true},
		{"{$contains: [abc, d]}", false},
		{"{$has_entry: [{a: 1}, 1]}", true},
		{"{$has_key: [{a: 1}, b]}", false},
		{"{$has_all_entries: [[1, 2], [1]]}", true},
		{"{$has_any_entry: [[1, 2], [3]]}", false},
		{"{$has_all_keys: [{a: 1, b: 2}, [a, b]]}", true},
		{"{$has_any_key: [{a: 1}, [b, a]]}", true},
		{"{$union: [[1, 2], [2, 3]]}", []any{int64(1), int64(2), int64(3)}},
		{"{$intersection: [[1, 2], [2, 3]]}", []any{int64(2)}},
		{"{$intersection: [{a: 1, b: 2}, {b: 3}]}", map[string]any{"b": int64(3)}},
		{"{$sum: [1, 2, 0.5]}", 3.5},
		{"{$difference: [1, 2]}", int64(-1)},
		{"{$product: [2, 3]}", int64(6)},
		{"{$quotient: [3, 2]}", 1.5},
		{"{$remainder: [7, 3]}", int64(1)},
		{"{$round: [1.5]}", int64(2)},
		{"{$ceil: 1.2}", int64(2)},
		{"{$matches: [abc, '[a-c]+']}", true},
		{"{$matches: [abcd, '[a-c]+']}", false},
	} {
		t.Run(row.call, func(t *testing.T) {
			result, err := translate(t, withCall(row.call), tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Objects[0]["value"])
		})
	}
}

// TestIntegersAreCalculatedExactly checks that no result is silently that of other numbers: a float64 has 53 bits.
func TestIntegersAreCalculatedExactly(t *testing.T) {
	for call, want := range map[string]any{
		"{$sum: [9007199254740990, 1]}":        int64(9007199254740991),
		"{$round: [9007199254740993]}":         int64(9007199254740993),
		"{$quotient: [9007199254740990, 2]}":   int64(4503599627370495),
		"{$remainder: [-7, 3]}":                int64(-1),
		"{$product: [94906265, 94906265]}":     int64(9007199136250225),
		"{$difference: [1, 9007199254740991]}": int64(-9007199254740990),
	} {
		t.Run(call, func(t *testing.T) {
			result, err := translate(t, withCall(call), tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, want, result.Objects[0]["value"])
		})
	}
	for call, want := range map[string]string{
		"{$difference: [9007199254740993, 9007199254740992]}": "needs smaller numbers to be exact",
		"{$sum: [9007199254740993, 0.5]}":                     "needs smaller numbers to be exact",
		"{$remainder: [-9223372036854775808, 10]}":            "needs smaller numbers to be exact",
		"{$sum: [9007199254740991, 1, -1]}":                   "has a result that is too large to be exact",
		"{$product: [94906267, 94906267]}":                    "has a result that is too large to be exact",
		"{$remainder: [1, 0]}":                                "has no result with these numbers",
	} {
		t.Run(call, func(t *testing.T) {
			_, err := translate(t, withCall(call), tosca.Options{})
			assert.ErrorContains(t, err, want)
		})
	}
}

// withCall returns a template of TOSCA 2.0 whose only manifest has a call as its value.
func withCall(call string) string {
	return "tosca_definitions_version: tosca_2_0\nservice_template: {node_templates: {a: {type: holdfast.nodes.KubernetesObject, properties: {spec: " +
		"{apiVersion: v1, kind: X, metadata: {name: a}, value: " + call + "}}}}}\n"
}
