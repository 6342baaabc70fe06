package architecture

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Code that decides about shared objects must not be able to create or delete them: no function that it can
// call creates such a change.
func TestSharedCodeNeitherCreatesNorDeletes(t *testing.T) {
	const create, remove = "create", "decideCandidate"
	set, files, _, info, err := Check(filepath.Join("..", "..", "pkg", "plan"))
	require.NoError(t, err)
	uses, shared, makers := map[types.Object][]types.Object{}, []types.Object{}, []string{}
	for _, file := range files {
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			self := info.Defs[f.Name]
			ast.Inspect(f, func(node ast.Node) bool {
				if ident, ok := node.(*ast.Ident); ok {
					if used, ok := info.Uses[ident].(*types.Func); ok {
						uses[self] = append(uses[self], used)
					}
				}
				return true
			})
			if createsOrDeletes(f) {
				makers = append(makers, self.Name())
			}
			if name := filepath.Base(set.Position(f.Pos()).Filename); name == "release.go" {
				shared = append(shared, self)
			}
		}
	}
	require.ElementsMatch(t, []string{create, remove}, makers, "these functions assign the actions")
	require.NotEmpty(t, shared)
	seen := map[types.Object]bool{}
	var follow func(f types.Object, way []string)
	follow = func(f types.Object, way []string) {
		if seen[f] {
			return
		}
		seen[f], way = true, append(slices.Clip(way), f.Name())
		assert.False(t, f.Name() == create || f.Name() == remove, strings.Join(way, " → "))
		for _, used := range uses[f] {
			follow(used, way)
		}
	}
	for _, f := range shared {
		follow(f, nil)
	}
	assert.Greater(t, len(seen), 2*len(shared))
}

// createsOrDeletes reports whether a function assigns Create or Delete to an Action.
func createsOrDeletes(f *ast.FuncDecl) (found bool) {
	give := func(to, value ast.Expr) {
		name, _ := value.(*ast.Ident)
		if selected, ok := to.(*ast.SelectorExpr); ok {
			to = selected.Sel
		}
		field, _ := to.(*ast.Ident)
		found = found || name != nil && field != nil && field.Name == "Action" && (name.Name == "Create" || name.Name == "Delete")
	}
	ast.Inspect(f, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			for i := range min(len(node.Lhs), len(node.Rhs)) {
				give(node.Lhs[i], node.Rhs[i])
			}
		case *ast.KeyValueExpr:
			give(node.Key, node.Value)
		}
		return true
	})
	return found
}
