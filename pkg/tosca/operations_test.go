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
			template := "tosca_definitions_version: tosca_2_0\nservice_template: {node_templates: {a: {type: holdfast.nodes.KubernetesObject, properties: {spec: " +
				"{apiVersion: v1, kind: X, metadata: {name: a}, value: " + row.call + "}}}}}\n"
			result, err := translate(t, template, tosca.Options{})
			require.NoError(t, err)
			assert.Equal(t, row.want, result.Objects[0]["value"])
		})
	}
}
