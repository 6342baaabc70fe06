package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// usesIn returns, for each file of a package, the other files that declare functions, methods, types,
// variables and constants that it uses. Fields do not count. Other packages need not be available.
func usesIn(t *testing.T, dir string) map[string]map[string]bool {
	t.Helper()
	uses := map[string]map[string]bool{}
	set, files, own, info := checked(t, dir)
	for _, file := range files {
		uses[filepath.Base(set.Position(file.Pos()).Filename)] = map[string]bool{}
	}
	for ident, object := range info.Uses {
		from, to := filepath.Base(set.Position(ident.Pos()).Filename), filepath.Base(set.Position(object.Pos()).Filename)
		_, isVariable := object.(*types.Var)
		if object.Pkg() == own && from != to && (object.Parent() == own.Scope() || !isVariable && object.Parent() == nil) {
			uses[from][to] = true
		}
	}
	return uses
}

// checked parses a package without its tests, and resolves its identifiers. Imports are not resolved.
func checked(t *testing.T, dir string) (set *token.FileSet, files []*ast.File, own *types.Package, info *types.Info) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	set = token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: emptyImporter{}, Error: func(error) {}}
	own, _ = config.Check(dir, set, files, info)
	return set, files, own, info
}

// emptyImporter imports every package as an empty one.
type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	empty := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	empty.MarkComplete()
	return empty, nil
}
