package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedMetrics are those of the table in docs/operations.md. What the dashboard
// and the alert rules ask for is compared with it in tools/manifests.
func documentedMetrics(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n| metric |")
	require.True(t, found, "a table of metrics")
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)").FindAllStringSubmatch(table, -1) {
		names = append(names, match[1])
	}
	require.NotEmpty(t, names)
	return names
}

// assertDocumented checks that all metrics of the documents are served, and that the
// documents have all of Holdfast's own.
func assertDocumented(t *testing.T, exposition string) {
	t.Helper()
	var served []string
	for _, match := range regexp.MustCompile("(?m)^# TYPE ([a-z_]+) ").FindAllStringSubmatch(exposition, -1) {
		served = append(served, match[1])
	}
	documented := documentedMetrics(t)
	for _, name := range documented {
		assert.Contains(t, served, name, "docs/operations.md has it")
	}
	for _, name := range served {
		if strings.HasPrefix(name, "holdfast_") {
			assert.Contains(t, documented, name)
		}
	}
}

var (
	selector = regexp.MustCompile(`([a-z_]+)\{([^{}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z]+)(=~|!=|!~|=)"([^"]*)"`)
)

// assertSelected checks that there is a sample for each selector with labels in the
// files, but for labels that are given by who collects.
func assertSelected(t *testing.T, exposition string, files ...string) {
	t.Helper()
	selected := 0
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range selector.FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
			name, labels := match[1], matcher.FindAllStringSubmatch(match[2], -1)
			if len(labels) == 0 || labels[0][1] == "job" {
				continue
			}
			selected++
			assert.True(t, has(exposition, name, labels), "%s: nothing is selected by %s", path, match[0])
		}
	}
	assert.Greater(t, selected, 5)
}

// has tells whether a sample of the name has the labels; for any but an equality the
// label is to be there.
func has(exposition, name string, labels [][]string) bool {
	for line := range strings.Lines(exposition) {
		if !strings.HasPrefix(line, name+"{") {
			continue
		}
		fits := true
		for _, label := range labels {
			wanted := label[1] + `="`
			if label[2] == "=" {
				wanted += label[3] + `"`
			}
			fits = fits && strings.Contains(line, wanted)
		}
		if fits {
			return true
		}
	}
	return false
}
