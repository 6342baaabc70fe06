package architecture

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxCycle is the maximum number of lines in files of a package that use each other, directly or
// through others. Such files can only be understood together.
const MaxCycle = 1500

// LargestCycle returns the lines and the names of the files of a package that use each other; zero if
// there are none.
func LargestCycle(dir string) (lines int, members []string, err error) {
	uses, err := usesIn(dir)
	if err != nil {
		return 0, nil, err
	}
	for _, cycle := range cyclesIn(uses) {
		n := 0
		for _, name := range cycle {
			raw, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return 0, nil, err
			}
			n += bytes.Count(raw, []byte("\n"))
		}
		if n > lines {
			lines, members = n, cycle
		}
	}
	return lines, members, nil
}

// cyclesIn returns the strongly connected components of more than one file, in Tarjan's algorithm.
func cyclesIn(uses map[string]map[string]bool) (cycles [][]string) {
	index, low, onStack := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(file string)
	visit = func(file string) {
		index[file] = len(index) + 1
		low[file] = index[file]
		stack, onStack[file] = append(stack, file), true
		for _, used := range slices.Sorted(maps.Keys(uses[file])) {
			switch {
			case index[used] == 0:
				visit(used)
				low[file] = min(low[file], low[used])
			case onStack[used]:
				low[file] = min(low[file], index[used])
			}
		}
		if low[file] != index[file] {
			return
		}
		at := slices.Index(stack, file)
		cycle := slices.Sorted(slices.Values(stack[at:]))
		for _, member := range cycle {
			onStack[member] = false
		}
		if stack = stack[:at]; len(cycle) > 1 {
			cycles = append(cycles, cycle)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(uses)) {
		if index[file] == 0 {
			visit(file)
		}
	}
	return cycles
}

// usesIn returns, for each file of a package, the other files that declare functions, methods, types,
// variables and constants that it uses. Fields do not count. Other packages need not be available.
func usesIn(dir string) (map[string]map[string]bool, error) {
	uses := map[string]map[string]bool{}
	set, files, own, info, err := Check(dir)
	if err != nil {
		return nil, err
	}
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
	return uses, nil
}

// Check parses a package without its tests, and resolves its identifiers. Imports are not resolved.
func Check(dir string) (set *token.FileSet, files []*ast.File, own *types.Package, info *types.Info, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, nil, nil, err
	}
	set = token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, nil, nil, err
		}
		files = append(files, file)
	}
	info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: emptyImporter{}, Error: func(error) {}}
	own, _ = config.Check(dir, set, files, info)
	return set, files, own, info, nil
}

// emptyImporter imports every package as an empty one.
type emptyImporter struct{}

func (emptyImporter) Import(path string) (*types.Package, error) {
	empty := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	empty.MarkComplete()
	return empty, nil
}
