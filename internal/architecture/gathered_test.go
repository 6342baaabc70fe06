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

// The input of a plan is collected in one place, so that the commands and the controller cannot disagree.
func TestOnlyTurnGathersInput(t *testing.T) {
	places := 0
	for name, file := range productFiles(t) {
		n := gatheredIn(file)
		if places += n; path.Dir(name) != "pkg/reconcile" {
			assert.Zero(t, n, "%s: have it gathered by reconcile.Decide", name)
		}
	}
	assert.Equal(t, 1, places)
}

func TestGatheredIn(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package x
var _ = plan.Input{Application: app, Live: live}
var _ = plan.Refuse(plan.Input{Application: app}, problem)
var _ = files.Input{Live: live}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.Equal(t, 1, gatheredIn(file))
}

// gatheredIn counts where a file sets the live objects of a plan.Input.
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

// productFiles returns the parsed files of pkg and cmd, without tests, by path.
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
