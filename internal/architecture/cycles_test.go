package architecture

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxCycle is the maximum number of lines in files of a package that use each other, directly or
// through others. Such files can only be understood together.
const maxCycle = 1500

func TestCyclesOfFiles(t *testing.T) {
	for _, p := range list(t) {
		lines, members := largestCycle(t, p.Dir)
		assert.LessOrEqual(t, lines, maxCycle, "%s: these files use each other: %s", local(p.ImportPath), strings.Join(members, " "))
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

// largestCycle returns the lines and the names of the files of a package that use each other; zero if
// there are none.
func largestCycle(t *testing.T, dir string) (lines int, members []string) {
	t.Helper()
	for _, cycle := range cyclesIn(usesIn(t, dir)) {
		n := 0
		for _, name := range cycle {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			n += bytes.Count(raw, []byte("\n"))
		}
		if n > lines {
			lines, members = n, cycle
		}
	}
	return lines, members
}

// cyclesIn returns the strongly connected components of more than one file, in Tarjan's algorithm.
func cyclesIn(uses map[string]map[string]bool) (cycles [][]string) {
	index, low, onStack := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(file string)
	visit = func(file string) {
		index[file] = len(index) + 1
		low[file] = index[file]
		stack, onStack[file] = append(stack, file), true
		for _, used := range slices.Sorted(maps.Keys(uses[file])) {
			switch {
			case index[used] == 0:
				visit(used)
				low[file] = min(low[file], low[used])
			case onStack[used]:
				low[file] = min(low[file], index[used])
			}
		}
		if low[file] != index[file] {
			return
		}
		at := slices.Index(stack, file)
		cycle := slices.Sorted(slices.Values(stack[at:]))
		for _, member := range cycle {
			onStack[member] = false
		}
		if stack = stack[:at]; len(cycle) > 1 {
			cycles = append(cycles, cycle)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if index[file] == 0 {
			visit(file)
		}
	}
	return cycles
}
