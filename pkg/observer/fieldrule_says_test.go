package observer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/observer"
)

// The validation errors of a hold rule use the terms of spec.fields, and quote a value as written.
func TestFaultsOfHoldHaveItsWords(t *testing.T) {
	for name, c := range map[string]struct {
		said map[string]any
		want string
	}{
		"parts that do not combine": {map[string]any{"minimum": int64(1), "pattern": "a"}, "only minimum and maximum can be combined"},
		"a value with our prefix":   {map[string]any{"minimum": "observer_schema_mode"}, "observer_schema_mode"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &observer.Fields{Hold: make([]*observer.FieldPath, 1)}
			faults := f.AddRule(0, c.said)
			require.Len(t, faults, 1)
			assert.Contains(t, faults[0].Error(), c.want)
		})
	}
}
