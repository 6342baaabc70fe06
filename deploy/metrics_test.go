package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documentedMetrics are those of the table in docs/operations.md. The dashboard and the
// alert rules are tested in tools/manifests.
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
