package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Reasons are for users. Code must use the meaning of a reason instead (v1alpha1.Meaning,
// plan.Problem.Disposition).
func TestReasonsAreNotCompared(t *testing.T) {
	for _, p := range list(t) {
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			assert.Empty(t, comparedReasons(file), "%s/%s: ask for what follows from a reason", local(p.ImportPath), name)
		}
	}
}

func TestComparedReasons(t *testing.T) {
	for _, row := range []struct {
		name, code string
		expected   []string
	}{
		{"equal", "p.Reason == v1alpha1.ReasonDeleting", []string{"ReasonDeleting"}},
		{"not equal, within more", "ok && (ReasonWaiting != reason)", []string{"ReasonWaiting"}},
		{"a word", `p.Reason == "Deleting"`, []string{`"Deleting"`}},
		{"none", `p.Reason == ""`, nil},
		{"a new one", "before.Reason == now.Reason", nil},
		{"a switch", "func() { switch r.Reason { case x.ReasonHeld, x.ReasonReady: } }", []string{"ReasonHeld", "ReasonReady"}},
		{"a row of a table", "map[string]int{x.ReasonHeld: 1}", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "", "package x\nvar _ = "+row.code, parser.SkipObjectResolution)
			require.NoError(t, err)
			assert.Equal(t, row.expected, comparedReasons(file))
		})
	}
}

// comparedReasons returns the reasons that a file compares with other values.
func comparedReasons(file *ast.File) (found []string) {
	compare := func(with ast.Expr, operands ...ast.Expr) {
		for _, operand := range operands {
			name := nameOf(operand)
			constant := strings.HasPrefix(name, "Reason") && name != "Reason"
			word := strings.HasPrefix(name, `"`) && name != `""` && nameOf(with) == "Reason"
			if constant || word {
				found = append(found, name)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compare(n.Y, n.X)
				compare(n.X, n.Y)
			}
		case *ast.SwitchStmt:
			for _, statement := range n.Body.List {
				if clause, ok := statement.(*ast.CaseClause); ok {
					compare(n.Tag, clause.List...)
				}
			}
		}
		return true
	})
	return found
}

// nameOf returns the last identifier of an expression.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.BasicLit:
		return e.Value
	}
	return ""
}
