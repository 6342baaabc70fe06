package architecture

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "update the drawing in docs/design.md")

// TestDrawing compares the drawing in docs/design.md with the layers and the imports.
func TestDrawing(t *testing.T) {
	const page, begin, end = "../../docs/design.md", "<!-- layers -->\n```\n", "```\n<!-- /layers -->"
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(raw), begin)
	require.True(t, found, "the page has no %q", begin)
	drawn, after, found := strings.Cut(rest, end)
	require.True(t, found, "the page has no %q", end)
	drawing := draw(list(t))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+drawing+end+after), 0o644)) //nolint:gosec // a page is for everybody
		return
	}
	assert.Equal(t, drawing, drawn, "go test ./internal/architecture -run TestDrawing -update updates it")
}

// draw returns a line for each layer item with its imports, top layer first. A line separates the pure
// packages.
func draw(packages []goPackage) string {
	var b strings.Builder
	ruled := false
	for i := len(layers) - 1; i >= 0; i-- {
		for _, entry := range slices.Sorted(slices.Values(layers[i])) {
			if !ruled && withinAny(entry, pure) {
				ruled = true
				b.WriteString("----------------  below: values in, values out; no client, clock, environment\n")
			}
			fmt.Fprintf(&b, "%-16s  %s\n", short(entry), strings.Join(importsOf(entry, packages), " "))
		}
	}
	return b.String()
}

// importsOf returns the layer items that the packages of an item import.
func importsOf(entry string, packages []goPackage) (names []string) {
	for _, p := range packages {
		if !within(local(p.ImportPath), entry) {
			continue
		}
		for _, imported := range p.Imports {
			if _, other := layerOf(local(imported)); other != "" && other != entry {
				names = append(names, short(other))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func short(entry string) string { return strings.TrimPrefix(entry, "pkg/") }
