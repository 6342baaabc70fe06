package mutants

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `make mutants` takes long and is run manually. This test only checks that every bug can be planted, and that its
// tests exist: `go test` passes if -run matches none.
func TestMutantsCanBePlanted(t *testing.T) {
	all, err := Read("planted")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, m := range all {
		_, err := m.Plant("../..")
		assert.NoError(t, err, m.Name)
		assert.True(t, hasTests(t, m.Tests), "%s: %v runs no test", m.Name, m.Tests)
		for _, name := range goldenCase.FindAllStringSubmatch(strings.Join(m.Tests, " "), -1) {
			cases, err := filepath.Glob("../../testdata/plan/*" + name[1] + "*")
			require.NoError(t, err)
			assert.NotEmpty(t, cases, "%s: no golden case %s", m.Name, name[1])
		}
	}
}

// goldenCase matches the name of a golden case in -run.
var goldenCase = regexp.MustCompile(`TestGolden/([a-z0-9-]+)`)

// testFunctions matches the functions in a test file that -run can name.
var testFunctions = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// hasTests reports whether the arguments of a `go test` command match a test of one of their packages. Without -run,
// all tests match.
func hasTests(t *testing.T, args []string) bool {
	t.Helper()
	at := slices.Index(args, "-run")
	if at < 0 {
		return true
	}
	pattern, _, _ := strings.Cut(args[at+1], "/") // without the names of subtests
	wanted := regexp.MustCompile(pattern)
	for _, arg := range args {
		dir, isPackage := strings.CutPrefix(arg, "./")
		if !isPackage {
			continue
		}
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range testFunctions.FindAllSubmatch(content, -1) {
				if wanted.Match(name[1]) {
					return true
				}
			}
		}
	}
	return false
}
