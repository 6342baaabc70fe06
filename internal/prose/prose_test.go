package prose

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	update = flag.Bool("update", false, "lower the rates in baseline.json to the current ones")
	show   = flag.String("show", "", "list all matches in files whose path has this `PREFIX`")
)

// root is the root of the repository.
const root = "../.."

// A rate may fall and must not rise. After an improvement, run the test with -update.
func TestProse(t *testing.T) {
	result, err := Measure(root)
	require.NoError(t, err)
	require.Greater(t, result.Words[Comments], 10_000)
	list(t, result)
	baseline, rates := readBaseline(t), result.Rates()
	var worse []Kind
	for _, kind := range slices.Sorted(maps.Keys(baseline)) {
		t.Logf("%s: %.2f matches per 1,000 words; the baseline is %.2f", kind, rates[kind], baseline[kind])
		if !assert.LessOrEqual(t, rates[kind], baseline[kind], "%s: more matches per 1,000 words than in baseline.json", kind) {
			worse = append(worse, kind)
		}
	}
	report(t, result, worse)
	if *update {
		writeBaseline(t, baseline, rates)
	}
}

// list logs the matches that -show selects.
func list(t *testing.T, result Result) {
	t.Helper()
	for _, m := range result.Matches {
		if *show != "" && strings.HasPrefix(m.File, *show) {
			t.Log(describe(m))
		}
	}
}

// report logs the matches in the worst files of the kinds whose rates have risen.
func report(t *testing.T, result Result, worse []Kind) {
	t.Helper()
	patterns := map[string]bool{}
	for _, file := range result.WorstFiles(worse, 10) {
		for _, m := range result.Matches {
			if m.File == file && slices.Contains(worse, m.Kind) {
				t.Log(describe(m))
				patterns[m.Pattern] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(patterns)) {
		t.Logf("%s: %s", id, Advice(id))
	}
}

func describe(m Match) string {
	return fmt.Sprintf("%s:%d: %s [%s] …%s…", m.File, m.Line, m.Kind, m.Pattern, m.Text)
}

func readBaseline(t *testing.T) map[Kind]float64 {
	t.Helper()
	raw, err := os.ReadFile("baseline.json")
	require.NoError(t, err)
	var baseline map[Kind]float64
	require.NoError(t, json.Unmarshal(raw, &baseline))
	return baseline
}

// writeBaseline lowers the baseline. It never raises a rate.
func writeBaseline(t *testing.T, baseline, rates map[Kind]float64) {
	t.Helper()
	for kind, rate := range rates {
		if before, known := baseline[kind]; !known || rate < before {
			baseline[kind] = rate
		}
	}
	raw, err := json.MarshalIndent(baseline, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("baseline.json", append(raw, '\n'), 0o644)) //nolint:gosec // a source file
}

// riddle finds names of golden cases that do not state subject and result in the words of the contract.
var riddle = regexp.MustCompile(`^(what|which|that|one|or|nothing|of|where|with|without|under|to)-|` +
	`\b(entry|entries|marks?|surplus|goes|go|gone|stays?|stands|comes?|refused|refuses|theirs|ours|our|mine|we|foreign|faults?|mistakes?|spelling|` +
	`abandoned|texts?|others|forgotten|knows|says|tells?|told|none|whole|nobody|somebody|anew|lets?|watches|notice|frees|freed|asked|` +
	`on-record|put-back|in-place|is-there|not-there|being-there|waited-for)\b`)

// A golden case is named after its subject and result.
func TestNamesOfGoldenCases(t *testing.T) {
	cases, err := os.ReadDir(root + "/testdata/plan")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		assert.NotRegexp(t, riddle, c.Name(), "name the subject and the result in the words of docs/semantics.md")
	}
	for _, name := range []string{"what-is-no-set-and-no-quantity-is-refused", "a-lost-mark-is-put-back", "a-surplus-is-kept"} {
		assert.Regexp(t, riddle, name)
	}
}

// Each line of found.txt is a pattern and a text that it matches. No pattern matches a line of clean.txt.
func TestPatterns(t *testing.T) {
	for _, row := range lines(t, "testdata/found.txt") {
		id, text, _ := strings.Cut(row, ": ")
		assert.Contains(t, matched(text), id, "%s", text)
	}
	for _, text := range lines(t, "testdata/clean.txt") {
		assert.Empty(t, matched(text), "%s", text)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// matched returns the patterns that match a comment.
func matched(text string) (ids []string) {
	r := Result{Words: map[Kind]int{}}
	r.paragraph("", paragraph{Comments, []line{{1, text}}})
	for _, m := range r.Matches {
		ids = append(ids, m.Pattern)
	}
	return ids
}

func TestGoContent(t *testing.T) {
	raw, err := os.ReadFile("testdata/example.go.txt")
	require.NoError(t, err)
	found, err := goContent("example.go", raw)
	require.NoError(t, err)
	var all []string
	for _, p := range found.paragraphs {
		for _, l := range p.lines {
			all = append(all, fmt.Sprintf("%s %d %s", p.kind, l.number, l.text))
		}
	}
	assert.Equal(t, []string{
		"comments 1 Package example is an example.",
		"comments 3 After the code CODE.",
		"comments 9 size is a thing.",
		"comments 12 of is a function",
		"comments 13 in two lines.",
		"strings 14 this string has words",
	}, all)
	assert.Equal(t, []identifier{{10, "moving", "oddtype"}, {14, "of", "oddfunc"}, {16, "marked", ""}}, found.identifiers)
	assert.Equal(t, []line{{12, "of is a function"}}, found.definitions)
}

func TestMarkdownParagraphs(t *testing.T) {
	raw, err := os.ReadFile("testdata/example.md")
	require.NoError(t, err)
	var all []string
	for _, p := range markdownParagraphs(string(raw)) {
		text := make([]string, len(p.lines))
		for i, l := range p.lines {
			text[i] = l.text
		}
		all = append(all, fmt.Sprintf("%d %s", p.lines[0].number, strings.Join(text, " / ")))
	}
	assert.Equal(t, []string{"1 Title", "3 A  link  with CODE / on two lines.", "10 - one", "11 - two / continued", "14 | a | b |"}, all)
}

func TestYAMLParagraphs(t *testing.T) {
	raw, err := os.ReadFile("testdata/example.yaml")
	require.NoError(t, err)
	var all []string
	for _, p := range yamlParagraphs(string(raw)) {
		text := make([]string, len(p.lines))
		for i, l := range p.lines {
			text[i] = l.text
		}
		all = append(all, fmt.Sprintf("%s %d %s", p.kind, p.lines[0].number, strings.Join(text, " / ")))
	}
	assert.Equal(t, []string{
		"comments 1 A comment / in two lines.", "comments 3 after a value", "comments 8 Before a field.", "strings 9 the first `field`",
		"strings 10  / in two / # lines", "comments 14 A note.",
	}, all)
}
