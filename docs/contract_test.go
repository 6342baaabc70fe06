package docs_test

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

// A comment that names a section of the contract names an existing one.
func TestTheCodeNamesSectionsThatThereAre(t *testing.T) {
	named := regexp.MustCompile(`(docs/(?:semantics|status|limits)\.md), "([^"]+)"(?: and "([^"]+)")?`)
	found := 0
	for _, root := range []string{"../pkg", "../internal", "../cmd"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range named.FindAllStringSubmatch(string(text), -1) {
				for _, section := range match[2:] {
					if section != "" {
						found++
						assert.Regexp(t, `(?m)^##+ `+regexp.QuoteMeta(section)+"$", read(t, match[1]), path)
					}
				}
			}
			return err
		}))
	}
	assert.Greater(t, found, 10)
}

// A golden directory proves a rule, and the rule links to it.
func TestEveryGoldenDirectoryIsLinkedByItsRule(t *testing.T) {
	rules := ""
	for _, page := range []string{"semantics", "status", "hooks", "worked-example"} {
		rules += read(t, "docs/"+page+".md")
	}
	entries, err := os.ReadDir("../testdata/plan")
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		if link := "(../testdata/plan/" + entry.Name() + ")"; !strings.Contains(rules, link) {
			t.Errorf("no document has %s", link)
		}
	}
}
