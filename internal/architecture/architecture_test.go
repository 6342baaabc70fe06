package architecture

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestImports(t *testing.T) {
	packages := list(t)
	for _, rule := range []struct {
		name  string
		check func(goPackage) []string
	}{
		{"every package has a place in the layers", hasPlace},
		{"arrows go down only", goesDown},
		{"the product does not use what is made for its tests", leavesTestsAlone},
		{"pure packages contain no client", isPure},
		{"the controller is not the command line", isController},
		{"the controller runs no program", runsNothing},
		{"some packages are imported nowhere", avoids},
	} {
		t.Run(rule.name, func(t *testing.T) {
			for _, p := range packages {
				assert.Empty(t, rule.check(p), p.ImportPath)
			}
		})
	}
}

// The rules must find violations, or else the test could pass without checking anything.
func TestRulesFindViolations(t *testing.T) {
	for _, row := range []struct {
		name     string
		check    func(goPackage) []string
		p        goPackage
		expected string
	}{
		{"a new package", hasPlace, goPackage{ImportPath: module + "/pkg/util"}, "pkg/util is in no layer"},
		{"an arrow up", goesDown, goPackage{ImportPath: module + "/pkg/delta", Imports: []string{module + "/pkg/plan"}}, "imports pkg/plan"},
		{"a neighbour", goesDown, goPackage{ImportPath: module + "/pkg/cli", Imports: []string{module + "/pkg/controller"}}, "imports pkg/controller"},
		{"test code", leavesTestsAlone, goPackage{ImportPath: module + "/cmd/holdfast", Imports: []string{module + "/internal/testcluster/binaries"}}, "imports internal/testcluster/binaries"},
		{"a client through others", isPure, goPackage{ImportPath: module + "/pkg/plan", Deps: []string{"k8s.io/client-go/rest"}}, "contains k8s.io/client-go/rest"},
		{"Go types of built-in kinds", isPure, goPackage{ImportPath: module + "/pkg/delta", Deps: []string{"k8s.io/api/core/v1"}}, "contains k8s.io/api/core/v1"},
		{"what is not pure", isPure, goPackage{ImportPath: module + "/pkg/builtin", Imports: []string{module + "/pkg/notify"}}, "imports pkg/notify"},
		{"randomness", isPure, goPackage{ImportPath: module + "/pkg/hooks", Imports: []string{"crypto/rand"}}, "imports crypto/rand"},
		{"the command line", isController, goPackage{ImportPath: module + "/cmd/holdfast-controller", Deps: []string{"k8s.io/cli-runtime/pkg/printers"}}, "contains k8s.io/cli-runtime/pkg/printers"},
		{"a program that the controller runs", runsNothing, goPackage{ImportPath: module + "/pkg/source", Imports: []string{"os/exec"}}, "imports os/exec"},
		{"controller-runtime", avoids, goPackage{TestImports: []string{"sigs.k8s.io/controller-runtime/pkg/client"}}, "imports sigs.k8s.io/controller-runtime/pkg/client"},
		{"the old json-patch", avoids, goPackage{XTestImports: []string{"github.com/evanphx/json-patch"}}, "imports github.com/evanphx/json-patch"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, []string{row.expected}, row.check(row.p))
		})
	}
	t.Run("but the current json-patch may be imported", func(t *testing.T) {
		assert.Empty(t, avoids(goPackage{Imports: []string{"github.com/evanphx/json-patch/v5"}}))
	})
	t.Run("and a package may import its own directory", func(t *testing.T) {
		assert.Empty(t, goesDown(goPackage{ImportPath: module + "/pkg/cli/a", Imports: []string{module + "/pkg/cli/b"}}))
	})
}

func hasPlace(p goPackage) []string {
	path := local(p.ImportPath)
	number, _ := layerOf(path)
	if number < 0 && withinAny(path, []string{"pkg", "cmd"}) {
		return []string{path + " is in no layer"}
	}
	return nil
}

func goesDown(p goPackage) (found []string) {
	own, entry := layerOf(local(p.ImportPath))
	if own < 0 {
		return nil
	}
	for _, imported := range p.Imports {
		number, importedEntry := layerOf(local(imported))
		if number >= own && importedEntry != entry {
			found = append(found, "imports "+local(imported))
		}
	}
	return found
}

func leavesTestsAlone(p goPackage) (found []string) {
	if number, _ := layerOf(local(p.ImportPath)); number < 0 {
		return nil
	}
	for _, imported := range p.Imports {
		if path := local(imported); withinAny(path, []string{"internal/testcluster", "internal/facts", "internal/architecture"}) {
			found = append(found, "imports "+cmp.Or(path, imported))
		}
	}
	return found
}

func isPure(p goPackage) (found []string) {
	if !withinAny(local(p.ImportPath), pure) {
		return nil
	}
	for _, imported := range p.Deps {
		if withinAny(imported, notInPure) || within(imported, "k8s.io/api") && withinAny(local(p.ImportPath), dataOnly) {
			found = append(found, "contains "+imported)
		}
	}
	for _, imported := range p.Imports {
		if path := local(imported); slices.Contains(notImportedByPure, imported) || within(path, "pkg") && !withinAny(path, pure) {
			found = append(found, "imports "+cmp.Or(path, imported))
		}
	}
	return found
}

func isController(p goPackage) (found []string) {
	if local(p.ImportPath) != "cmd/holdfast-controller" {
		return nil
	}
	for _, imported := range p.Deps {
		if withinAny(imported, notInController) {
			found = append(found, "contains "+imported)
		}
	}
	return found
}

func runsNothing(p goPackage) (found []string) {
	if !withinAny(local(p.ImportPath), ofController) {
		return nil
	}
	for _, imported := range p.Imports {
		if imported == "os/exec" || imported == "plugin" {
			found = append(found, "imports "+imported)
		}
	}
	return found
}

func avoids(p goPackage) (found []string) {
	for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if withinAny(imported, nowhere) && !strings.HasPrefix(imported, "github.com/evanphx/json-patch/v5") {
			found = append(found, "imports "+imported)
		}
	}
	return found
}

func TestPurePackagesDoNotReadClock(t *testing.T) {
	for _, p := range list(t) {
		if !withinAny(local(p.ImportPath), pure) {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			assert.Empty(t, forbiddenCalls(files, file))
		}
	}
}

func TestForbiddenCalls(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "a.go", `package a
import (
	clock "time"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)
var now = clock.Now
func f() (clock.Time, metav1.Time) { return clock.Unix(0, 0), metav1.Now() }
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.Equal(t, []string{"a.go:6:11: time.Now", "a.go:7:63: k8s.io/apimachinery/pkg/apis/meta/v1.Now"}, forbiddenCalls(files, file))
}

// forbiddenCalls returns the uses of notCalledByPure in a file.
func forbiddenCalls(files *token.FileSet, file *ast.File) (found []string) {
	imports := importNames(file)
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		name, ok := selector.X.(*ast.Ident)
		if !ok {
			return true
		}
		path := imports[name.Name]
		if slices.Contains(notCalledByPure[path], selector.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: %s.%s", files.Position(selector.Pos()), path, selector.Sel.Name))
		}
		return true
	})
	return found
}

// importNames maps the name of each import in a file to its path.
func importNames(file *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has rejected it
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = path
	}
	return names
}
