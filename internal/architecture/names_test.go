package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxNameLength is the maximum length of a test name. Conditions belong into the name of a subtest.
const maxNameLength = 45

func TestTestNamesAreShort(t *testing.T) {
	seen := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(name, ".") && strings.Trim(name, ".") != "":
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, name := range namesOfTests(string(text)) {
			seen++
			assert.LessOrEqual(t, len(name), maxNameLength, "%s: %s", path, name)
		}
		return err
	}))
	require.Greater(t, seen, 500)
}

func TestNamesOfTests(t *testing.T) {
	assert.Equal(t, []string{"TestA", "FuzzB"}, namesOfTests("func TestA(t *testing.T) {}\n\nfunc FuzzB(f *testing.F) {}\n\nfunc c() {}\n// func TestD() {}\n"))
}

var testName = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)

func namesOfTests(text string) (names []string) {
	for _, match := range testName.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}
