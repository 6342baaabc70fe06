package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Embedded types count with all of their fields and methods. A relation is found without its names.
func TestMeasures(t *testing.T) {
	t.Chdir("../../..")
	packages := loader{}
	p, err := packages.load("internal/architecture/report/testdata/related")
	require.NoError(t, err)
	outer := p.own.Scope().Lookup("outer").Type()
	policy := packages["pkg/claim"].own.Scope().Lookup("Policy").Type()
	assert.Equal(t, size{3 + sizeOf(policy).fields + 1, 3 + sizeOf(policy).methods}, sizeOf(outer))
	assert.Positive(t, sizeOf(policy).methods)

	var m measures
	m.addRelated(p)
	assert.Equal(t, 6, m.related)
}

// A type in the list must not grow, and one that is not must not be large.
func TestLargeTypesMayOnlyShrink(t *testing.T) {
	for name, bound := range larger {
		isAllowed := func(s size) bool { return (&measures{larger: map[string]size{name: s}}).areSmall() }
		assert.True(t, isAllowed(bound), name)
		assert.True(t, isAllowed(size{bound.fields - 1, bound.methods}), name)
		assert.False(t, isAllowed(size{bound.fields + 1, bound.methods}), name)
		assert.False(t, isAllowed(size{bound.fields, bound.methods + 1}), name)
	}
	assert.False(t, (&measures{larger: map[string]size{"pkg/new.Type": {maxFields + 1, 0}}}).areSmall())
}
