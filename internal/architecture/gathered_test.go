package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a plan is made of is put together in one place, or else the commands and the
// controller are of two minds.
func TestOnlyATurnGathers(t *testing.T) {
	places := 0
	for name, file := range productFiles(t) {
		n := gatheredIn(file)
		if places += n; path.Dir(name) != "pkg/turn" {
			assert.Zero(t, n, "%s: have it gathered by turn.Decide", name)
		}
	}
	assert.Equal(t, 1, places)
}

func TestGatheredInputIsFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package x
var _ = plan.Input{Application: app, Live: live}
var _ = plan.Refuse(plan.Input{Application: app}, problem)
var _ = files.Input{Live: live}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.Equal(t, 1, gatheredIn(file))
}

// gatheredIn is how often a file says what a plan.Input has of live objects.
func gatheredIn(file *ast.File) (n int) {
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		if !ok || nameOf(of.X) != "plan" || of.Sel.Name != "Input" {
			return true
		}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Live" {
				n++
			}
		}
		return true
	})
	return n
}

// productFiles are the parsed files of pkg and cmd, without tests, by their paths.
func productFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, p := range list(t) {
		if !withinAny(local(p.ImportPath), []string{"pkg", "cmd"}) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files[path.Join(local(p.ImportPath), name)] = file
		}
	}
	return files
}
