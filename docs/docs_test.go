package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/hooks"
)

// documents are those of this directory and the README, by their paths from the root.
var documents = []string{"README.md", "docs/semantics.md", "docs/benchmarks.md", "docs/install.md", "docs/design.md", "docs/mysql.md", "docs/templates.md", "docs/tosca.md", "docs/hooks.md", "docs/large.md", "docs/operations.md", "docs/shards.md", "docs/security.md", "docs/history.md", "docs/fields.md", "docs/ui.md"}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	require.NoError(t, err)
	return string(text)
}

func TestEveryConditionReasonIsExplained(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| \\**`([A-Za-z]+)`\\**")
	table := facts.Table(t, read(t, "docs/semantics.md"), "| reason |")
	var explained []string
	for _, match := range row.FindAllStringSubmatch(table, -1) {
		explained = append(explained, match[1])
	}
	assert.ElementsMatch(t, reasons(t), explained, "the table of docs/semantics.md and the constants of pkg/api/v1alpha1")
}

// What is in bold says that only a user can help.
func TestReasonsThatStallAreInBold(t *testing.T) {
	table := facts.Table(t, read(t, "docs/semantics.md"), "| reason |")
	for _, reason := range reasons(t) {
		assert.Equal(t, v1alpha1.InfoForReason(reason).Disposition.Stalled(), strings.Contains(table, "| **`"+reason+"`** |"), reason)
	}
}

func TestEveryPointForHooksIsExplained(t *testing.T) {
	var points []string
	for field := range reflect.TypeFor[hooks.Hooks]().Fields() {
		points = append(points, field.Name)
	}
	var explained []string
	for line := range strings.SplitSeq(facts.Table(t, read(t, "docs/hooks.md"), "| point |"), "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(first, -1) {
			explained = append(explained, match[1])
		}
	}
	assert.ElementsMatch(t, points, explained, "the table of docs/hooks.md and the fields of hooks.Hooks")
}

// reasons are those of the API.
func reasons(t *testing.T) []string {
	t.Helper()
	return facts.Constants(t, "../pkg/api/v1alpha1/reasons.go", "Reason")
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, document := range documents {
		for _, match := range link.FindAllStringSubmatch(withoutCode(read(t, document)), -1) {
			if strings.Contains(match[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(match[1], "#")
			target := document
			if path != "" {
				target = filepath.Join(filepath.Dir(document), path)
			}
			info, err := os.Stat(filepath.Join("..", target))
			if assert.NoError(t, err, "%s: %s", document, match[1]) && anchor != "" && !info.IsDir() {
				assert.Contains(t, anchors(read(t, target)), anchor, "%s: %s", document, match[1])
			}
		}
	}
}

var fence = regexp.MustCompile("(?ms)^```.*?\n```$")

func withoutCode(text string) string { return fence.ReplaceAllString(text, "") }

// anchors are those that the headings of a document get.
func anchors(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(withoutCode(text), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"))
	}
	return found
}

func TestWhatTheReadmeShowsIsPrinted(t *testing.T) { printsWhatItShows(t, "README.md") }

// printsWhatItShows runs each command of a page that needs no cluster, and compares
// what it prints with what the page shows.
func printsWhatItShows(t *testing.T, path string) {
	t.Helper()
	page := read(t, path)
	t.Chdir("..")
	shown := 0
	for _, block := range blocks(page, "console") {
		for _, example := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, expected, _ := strings.Cut(example, "\n")
			program, isOurs := strings.CutPrefix(command, "bin/holdfast ")
			if !isOurs {
				continue // needs a cluster
			}
			shown++
			var out, problems bytes.Buffer
			status := cli.Main(t.Context(), append([]string{"holdfast"}, strings.Fields(program)...), cli.Streams{
				In: strings.NewReader(""), Out: &out, Err: &problems,
				Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Date(2026, 11, 21, 5, 4, 0, 0, time.UTC) }, // minutes after the files were made
			})
			assert.Less(t, status, 2, command)
			assert.Empty(t, problems.String(), command)
			assertShows(t, expected, out.String())
		}
	}
	assert.Positive(t, shown)
}

// assertShows checks that a text is what was printed, but for what a line "…" leaves
// out.
func assertShows(t *testing.T, shown, printed string) {
	t.Helper()
	rest := printed
	for i, part := range strings.Split("\n"+strings.TrimRight(shown, "\n")+"\n", "\n…\n") {
		part = strings.TrimPrefix(part, "\n")
		at := strings.Index(rest, part)
		if !assert.GreaterOrEqual(t, at, 0, "%q is not printed in:\n%s", part, printed) || i == 0 && !assert.Zero(t, at, "%q is not how it begins", part) {
			return
		}
		rest = rest[at+len(part):]
	}
	if !strings.HasSuffix(strings.TrimRight(shown, "\n"), "…") {
		assert.Empty(t, rest, "more is printed")
	}
}

// blocks are the fenced blocks of a language.
func blocks(text, language string) []string {
	var found []string
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func TestTheReadmeShowsTheQuickstart(t *testing.T) {
	assert.Contains(t, blocks(read(t, "README.md"), "yaml"), read(t, "docs/quickstart/application.yaml"))
}

func TestDocumentsStayShort(t *testing.T) {
	for document, limit := range map[string]int{"README.md": 200, "docs/design.md": 240} {
		assert.LessOrEqual(t, strings.Count(read(t, document), "\n"), limit, document)
	}
}
