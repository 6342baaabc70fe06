package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// http.Server logs the value of a panic, which can be a value of a Secret.
func TestServersDoNotLogPanics(t *testing.T) {
	servers := 0
	for name, file := range productFiles(t) {
		all, careless := serversIn(file)
		servers += all
		assert.Zero(t, careless, "%s: an http.Server has a handler of worker.RecoverPanics", name)
	}
	assert.Greater(t, servers, 3)
}

func TestServersIn(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package x
var _ = &http.Server{Handler: worker.RecoverPanics(ctx, mux), ErrorLog: log}
var _ = &http.Server{Handler: mux}
var _ = http.Server{}
var _ = []*http.Server{}`, parser.SkipObjectResolution)
	require.NoError(t, err)
	all, careless := serversIn(file)
	assert.Equal(t, 3, all)
	assert.Equal(t, 2, careless)
}

// serversIn counts the http.Servers that a file creates, and those that log panics.
func serversIn(file *ast.File) (all, careless int) {
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		if !ok || nameOf(of.X) != "http" || of.Sel.Name != "Server" {
			return true
		}
		all++
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok && nameOf(pair.Key) == "Handler" {
				if call, ok := pair.Value.(*ast.CallExpr); ok && nameOf(call.Fun) == "RecoverPanics" {
					return true
				}
			}
		}
		careless++
		return true
	})
	return all, careless
}
