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

// documents returns the paths of all documents, relative to the root.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	found := []string{"README.md", "CONTRIBUTING.md"}
	for _, page := range pages {
		found = append(found, "docs/"+page)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	require.NoError(t, err)
	return string(text)
}

func TestEveryConditionReasonIsExplained(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| \\**`([A-Za-z]+)`\\**")
	table := facts.Table(t, read(t, "docs/status.md"), "| reason |")
	var explained []string
	for _, match := range row.FindAllStringSubmatch(table, -1) {
		explained = append(explained, match[1])
	}
	assert.ElementsMatch(t, reasons(t), explained, "the table of docs/status.md and the constants of pkg/api/v1alpha1")
}

// A reason in bold requires action by a user.
func TestReasonsThatStallAreInBold(t *testing.T) {
	table := facts.Table(t, read(t, "docs/status.md"), "| reason |")
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

// reasons returns the condition reasons of the API.
func reasons(t *testing.T) []string {
	t.Helper()
	return facts.Constants(t, "../pkg/api/v1alpha1/reasons.go", "Reason")
}

func TestLinksLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, document := range documents(t) {
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

// anchors returns the anchors of a document: the anchors of its headings, and the explicit ones.
func anchors(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$|<a id="([a-z-]+)"></a>`).FindAllStringSubmatch(withoutCode(text), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found = append(found, strings.ReplaceAll(name, " ", "-"), match[2])
	}
	return found
}

func TestReadmeOutput(t *testing.T) { printsWhatItShows(t, "README.md") }

// printsWhatItShows runs each command of a page that does not need a cluster, and compares its output with
// the page.
func printsWhatItShows(t *testing.T, path string) {
	t.Helper()
	page := read(t, path)
	t.Chdir("..")
	shown := 0
	for _, example := range facts.Examples(page) {
		program, offline := strings.CutPrefix(example.Command, "bin/holdfast ")
		if !offline {
			continue // needs a cluster
		}
		shown++
		var out, problems bytes.Buffer
		status := cli.Main(t.Context(), append([]string{"holdfast"}, strings.Fields(program)...), cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &problems,
			Getenv: func(string) string { return "" }, Now: func() time.Time { return time.Date(2026, 11, 21, 5, 4, 0, 0, time.UTC) }, // minutes after the files were made
		})
		assert.Less(t, status, 2, example.Command)
		assert.Empty(t, problems.String(), example.Command)
		facts.AssertShows(t, example.Output, out.String())
	}
	assert.Positive(t, shown)
}

func TestTheReadmeShowsTheQuickstart(t *testing.T) {
	for _, file := range []string{"application.yaml", "guard.yaml"} {
		assert.Contains(t, facts.Blocks(read(t, "README.md"), "yaml"), read(t, "docs/quickstart/"+file))
	}
}

func TestDocumentsStayShort(t *testing.T) {
	for document, limit := range map[string]int{"README.md": 200, "docs/design.md": 240} {
		assert.LessOrEqual(t, strings.Count(read(t, document), "\n"), limit, document)
	}
	contract := read(t, "docs/semantics.md")
	table, _, _ := strings.Cut(contract, "\n## Words\n")
	assert.LessOrEqual(t, len(strings.Fields(contract)), 8500, "words of the contract")
	assert.LessOrEqual(t, len(strings.Fields(table)), 1500, "words of its decision table")
}

// make test-versions writes the table. The versions come from the module files.
func TestEachVersionOfKubernetesHasARow(t *testing.T) {
	table := facts.Table(t, read(t, "docs/install.md"), "| Kubernetes |")
	files, err := filepath.Glob("../deploy/local/versions/*.mod")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	version := func(text, module string) string {
		found := regexp.MustCompile(`\s` + module + ` v(\S+)\n`).FindStringSubmatch(text)
		require.NotEmpty(t, found, module)
		return found[1]
	}
	var versions []string
	for _, file := range append(files, "../deploy/local/go.mod") {
		text := read(t, "docs/"+file)
		kubernetes, etcd := version(text, "k8s.io/kubernetes"), version(text, "go.etcd.io/etcd/server/v3")
		own := "0." + strings.TrimPrefix(kubernetes, "1.")
		for _, match := range regexp.MustCompile(`=> (k8s\.io/\S+) v(\S+)`).FindAllStringSubmatch(text, -1) {
			assert.Equal(t, own, match[2], "%s: %s", file, match[1])
		}
		assert.Contains(t, table, "\n| "+kubernetes+" | v"+own+", "+etcd+" | ", "make test-versions")
		versions = append(versions, kubernetes)
	}
	assert.Equal(t, len(versions)+1, strings.Count(table, "\n"), "rows")
	list := regexp.MustCompile(`(?m)^KUBERNETES \?= (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	require.NotEmpty(t, list)
	assert.ElementsMatch(t, versions, strings.Fields(list[1]))
}
