package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// module is the path of the module, with a slash.
const module = "holdfast.dev/holdfast/"

// goPackage is a package without its tests.
type goPackage struct {
	set   *token.FileSet
	files []*ast.File
	own   *types.Package
	info  *types.Info
}

// loader loads packages of the module, each once, so that a type is the same in all packages that use it. Packages of
// other modules are empty.
type loader map[string]*goPackage

// load returns the package in a directory, relative to the root of the module.
func (l loader) load(dir string) (*goPackage, error) {
	if p := l[dir]; p != nil {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &goPackage{set: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(p.set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file)
	}
	config := types.Config{Importer: l, Error: func(error) {}} // what other modules declare is not known
	p.own, _ = config.Check(module+filepath.ToSlash(dir), p.set, p.files, p.info)
	l[dir] = p
	return p, nil
}

// Import implements types.Importer.
func (l loader) Import(path string) (*types.Package, error) {
	if dir, isOwn := strings.CutPrefix(path, module); isOwn {
		p, err := l.load(filepath.FromSlash(dir))
		if err != nil {
			return nil, err
		}
		return p.own, nil
	}
	empty := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	empty.MarkComplete()
	return empty, nil
}
