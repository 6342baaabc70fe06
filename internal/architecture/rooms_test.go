package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readable are packages whose files can be read in order: only few references to other files run against an
// order of files.
var readable = []string{"pkg/plan", "pkg/turn", "pkg/controller", "pkg/tosca"}

func TestFilesCanBeReadInOrder(t *testing.T) {
	for _, dir := range readable {
		t.Run(dir, func(t *testing.T) {
			uses := usesIn(t, filepath.Join("..", "..", dir))
			order, back := order(uses)
			total := 0
			for _, used := range uses {
				total += len(used)
			}
			assert.Less(t, float64(len(back)), 0.1*float64(total), "of %d uses of other files, these run back up the order %v: %v", total, order, back)
		})
	}
}

func TestOrder(t *testing.T) {
	uses := map[string]map[string]bool{
		"a.go": {"b.go": true, "c.go": true}, "b.go": {"c.go": true}, "c.go": {"a.go": true}, "d.go": {},
	}
	top, back := order(uses)
	assert.Less(t, slices.Index(top, "a.go"), slices.Index(top, "b.go"))
	assert.Equal(t, []string{"c.go uses a.go"}, back)
}

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

// order sorts files so that they come before the files that they use, as far as possible (with the
// heuristic of Eades, Lin and Smyth). It returns the uses against this order.
func order(uses map[string]map[string]bool) (files, back []string) {
	left := slices.Sorted(maps.Keys(uses))
	var top, bottom []string
	for len(left) > 0 {
		best, at := 0, -1
		for i, name := range left {
			out, in := 0, 0
			for _, other := range left {
				if uses[name][other] {
					out++
				}
				if uses[other][name] {
					in++
				}
			}
			switch {
			case out == 0:
				best, at = -1<<30, i
			case at < 0 || out-in > best && best != -1<<30:
				best, at = out-in, i
			}
			if best == -1<<30 {
				break
			}
		}
		name := left[at]
		left = slices.Delete(left, at, at+1)
		if best == -1<<30 {
			bottom = append(bottom, name)
		} else {
			top = append(top, name)
		}
	}
	slices.Reverse(bottom)
	files = slices.Concat(top, bottom)
	for i, name := range files {
		for _, above := range files[:i] {
			if uses[name][above] {
				back = append(back, name+" uses "+above)
			}
		}
	}
	slices.Sort(back)
	return files, back
}
