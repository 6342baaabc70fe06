package docs_test

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A comment that names a section of the contract names an existing one.
func TestTheCodeNamesSectionsThatThereAre(t *testing.T) {
	named := regexp.MustCompile(`(docs/(?:semantics|status|limits|manifests)\.md), "([^"]+)"(?: and "([^"]+)")?`)
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

// The rules of a letter are numbered without gaps. Each reference to a rule, and each label of a golden case, names an
// existing rule.
func TestRulesAreNumbered(t *testing.T) {
	contract := withoutCode(read(t, "docs/semantics.md"))
	last := map[string]int{}
	for _, match := range regexp.MustCompile(`(?m)^(?:\*\*|\| )([A-Z])(\d+)(?:\*\*| )`).FindAllStringSubmatch(contract, -1) {
		letter := match[1]
		last[letter]++
		assert.Equal(t, strconv.Itoa(last[letter]), match[2], "rule %s%s", letter, match[2])
	}
	assert.Greater(t, len(last), 10)
	for _, match := range regexp.MustCompile(`\b([A-Z])(\d+)\b`).FindAllStringSubmatch(regexp.MustCompile("`[^`]*`").ReplaceAllString(contract, ""), -1) {
		number, err := strconv.Atoi(match[2])
		require.NoError(t, err)
		assert.LessOrEqual(t, number, last[match[1]], "no rule has the number %s", match[0])
	}
}

// The golden cases of a row of the decision table show its reason. A row without a reason has a case without drift.
func TestCasesShowTheDecisionTable(t *testing.T) {
	_, contract, _ := strings.Cut(read(t, "docs/semantics.md"), "\n## Decision table\n")
	section, _, _ := strings.Cut(contract, "\n## ")
	cases := map[string][]string{}
	for _, link := range regexp.MustCompile(`\[(T\d+)\]\(\.\./(testdata/plan/[a-z0-9-]+)\)`).FindAllStringSubmatch(section, -1) {
		cases[link[1]] = append(cases[link[1]], read(t, link[2]+"/plan.golden.yaml"))
	}
	shows := func(row, text string, is bool) {
		hasText := func(golden string) bool { return strings.Contains(golden, text) == is }
		assert.True(t, slices.ContainsFunc(cases[row], hasText), "%s: no case has %q: %t", row, text, is)
	}
	printed := map[string]string{"additions": "\n  additions:", "kept": "\n          kept:", "NotRestored": "not restored: ", "NotRemoved": "not removed: "}
	conditions := reasons(t)
	rows := regexp.MustCompile(`(?m)^\| (T\d+) \|.*\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(section, -1)
	assert.Greater(t, len(rows), 30)
	for _, row := range rows {
		name, verdict := row[1], strings.TrimSpace(row[2])
		found := regexp.MustCompile("`([A-Za-z-]+)`").FindAllStringSubmatch(row[3], -1)
		if len(found) == 0 {
			shows(name, "drift:", false)
		}
		for _, match := range found {
			switch reason := match[1]; {
			case verdict == "write nothing", verdict == "defer": // a plan does not print it
				assert.Contains(t, conditions, reason, name)
			case unicode.IsUpper(rune(reason[0])):
				shows(name, cmp.Or(printed[reason], "reason: "+reason+"\n"), true)
			default:
				shows(name, cmp.Or(printed[reason], "drift: "+reason+"\n"), true)
			}
		}
	}
}

// A golden directory proves a rule, and the rule links to it.
func TestEveryGoldenDirectoryIsLinkedByItsRule(t *testing.T) {
	rules := ""
	for _, page := range []string{"semantics", "manifests", "status", "hooks", "worked-example"} {
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
