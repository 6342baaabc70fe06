// Package facts extracts facts from source files and documents, for tests that compare them.
package facts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Constants returns the values of a Go file's string constants whose names have the prefix.
func Constants(t testing.TB, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return true
	})
	require.NotEmpty(t, values, "%s has no constant %s…", file, prefix)
	return values
}

// Table returns the rest of a table in a document after the given start.
func Table(t testing.TB, document, begin string) string {
	t.Helper()
	_, after, found := strings.Cut(document, "\n"+begin)
	require.True(t, found, "no table %q", begin)
	table, _, _ := strings.Cut(after, "\n\n")
	return table
}

// Metrics returns the metrics in the table of metrics in a document.
func Metrics(t testing.TB, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var names []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)").FindAllStringSubmatch(Table(t, string(text), "| metric |"), -1) {
		names = append(names, match[1])
	}
	require.NotEmpty(t, names)
	return names
}
