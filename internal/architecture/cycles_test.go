package architecture

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCyclesOfFiles(t *testing.T) {
	for _, p := range list(t) {
		lines, members, err := LargestCycle(p.Dir)
		require.NoError(t, err)
		assert.LessOrEqual(t, lines, MaxCycle, "%s: these files use each other: %s", local(p.ImportPath), strings.Join(members, " "))
	}
}

func TestCyclesAreFound(t *testing.T) {
	uses := map[string]map[string]bool{
		"a.go": {"b.go": true}, "b.go": {"c.go": true}, "c.go": {"a.go": true, "d.go": true}, "d.go": {"e.go": true}, "e.go": {"d.go": true}, "f.go": {"a.go": true},
	}
	var cycles []string
	for _, members := range cyclesIn(uses) {
		cycles = append(cycles, strings.Join(members, " "))
	}
	slices.Sort(cycles)
	assert.Equal(t, []string{"a.go b.go c.go", "d.go e.go"}, cycles)
}
