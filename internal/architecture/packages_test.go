package architecture

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goPackage is the output of `go list -json` for a package.
type goPackage struct {
	ImportPath   string
	Dir          string
	GoFiles      []string
	Imports      []string // of its code
	TestImports  []string // of its tests in the same package
	XTestImports []string // of its tests in package _test
	Deps         []string // of its code, including indirect ones
}

// list returns the packages of the product.
func list(t *testing.T) []goPackage {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	command.Dir = "../.."
	var problems strings.Builder
	command.Stderr = &problems
	output, err := command.Output()
	require.NoError(t, err, problems.String())
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); decoder.More(); {
		var p goPackage
		require.NoError(t, decoder.Decode(&p))
		packages = append(packages, p)
	}
	require.NotEmpty(t, packages)
	return packages
}

// local returns the import path relative to the module, or "" for other modules.
func local(importPath string) string {
	path, ok := strings.CutPrefix(importPath, module+"/")
	if !ok {
		return ""
	}
	return path
}

// within reports whether a path is a directory or below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

// layerOf returns the layer and the item that a local path belongs to. The number is -1 if it belongs to
// none.
func layerOf(path string) (number int, entry string) {
	for number, entries := range layers {
		for _, entry := range entries {
			if within(path, entry) {
				return number, entry
			}
		}
	}
	return -1, ""
}
