// The program prints the measures of the architecture of the packages below pkg, and fails if one exceeds its bound: the
// largest cycles of files, the largest struct and method set, the code of each area, the amount of comments, and the lines
// that ask how an Application is related to an object. Run it as "make engine-report".
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/architecture"
)

// relation matches code that asks for the relation of an Application and an object.
var relation = regexp.MustCompile(`\b(IsShared|IsOwned|WasAdopted|wasShared|isMarkedAdopted|OwnershipShare|OriginAdopted)\b|\.policy\.Target\b`)

// policyFiles are the files that may ask for the relation: the table, and the functions that choose a row.
var policyFiles = []string{
	filepath.Join("pkg", "claim", "policy.go"), filepath.Join("pkg", "claim", "owner.go"), filepath.Join("pkg", "plan", "own.go"),
}

// largest is a name with the largest number found so far.
type largest struct {
	name string
	n    int
}

func (l *largest) add(name string, n int) {
	if n > l.n {
		*l = largest{name, n}
	}
}

// The bounds of the measures. A bound is raised only in a commit of its own, with the reason.
const (
	maxRelated  = 20
	maxFields   = 15
	maxMethods  = 25
	minComments = 0.25
)

// area is a set of packages with a bound of its own on the lines of code. The bound is raised only in a commit of its
// own, with the reason.
type area struct {
	name     string
	bound    int
	packages []string // a package includes those below it
}

// areas are the parts of pkg that must not grow. A package that is cut out of another one joins its area.
var areas = []area{
	{"engine", 17560, []string{"claim", "delta", "health", "intent", "observer", "plan", "record", "writer"}},
	{"CLI", 15900, []string{"cli"}},
}

// includes reports whether a directory is part of the area.
func (a area) includes(dir string) bool {
	return slices.ContainsFunc(a.packages, func(name string) bool {
		return dir == filepath.Join("pkg", name) || strings.HasPrefix(dir, filepath.Join("pkg", name)+string(filepath.Separator))
	})
}

// measures are the numbers of all packages.
type measures struct {
	cycle, fields, methods largest
	code                   map[string]int // lines by directory
	comments, related      int
}

// codeOf returns the lines of code in the directories for which includes returns true.
func (m *measures) codeOf(includes func(dir string) bool) (lines int) {
	for dir, n := range m.code {
		if includes(dir) {
			lines += n
		}
	}
	return lines
}

// row is a measure with its bound.
type row struct {
	name  string
	value largest
	bound int
}

func main() {
	m := measures{code: map[string]int{}}
	if err := filepath.WalkDir("pkg", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return m.addPackage(path)
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	all := m.codeOf(func(string) bool { return true })
	comments := float64(m.comments) / float64(all)
	for _, dir := range slices.Sorted(maps.Keys(m.code)) {
		fmt.Printf("%-64s %6d\n", "lines of code of "+filepath.ToSlash(dir), m.code[dir])
	}
	fmt.Printf("%-64s %6d\n", "lines of code of all", all)
	rows := []row{
		{"lines of the largest cycle of files", m.cycle, architecture.MaxCycle},
		{"lines outside the policy that ask for the relation to an object", largest{n: m.related}, maxRelated},
		{"fields of the largest struct, without pkg/api and options", m.fields, maxFields},
		{"methods of the largest type", m.methods, maxMethods},
	}
	for _, a := range areas {
		rows = append(rows, row{"lines of code of the " + a.name, largest{n: m.codeOf(a.includes)}, a.bound})
	}
	exceeded := false
	for _, row := range rows {
		fmt.Println(strings.TrimSpace(fmt.Sprintf("%-64s %6d (at most %d)  %s", row.name, row.value.n, row.bound, row.value.name)))
		exceeded = exceeded || row.value.n > row.bound
	}
	fmt.Printf("%-64s %6.2f (at least %.2f)\n", "lines of comments per line of code", comments, minComments)
	if exceeded || comments < minComments {
		fmt.Fprintln(os.Stderr, "a measure exceeds its bound: simplify the code, or raise the bound in internal/architecture/report in a commit of its own, with the reason")
		os.Exit(1)
	}
}

func (m *measures) addPackage(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") }); err != nil || len(names) == 0 {
		return err
	}
	lines, members, err := architecture.LargestCycle(dir)
	if err != nil {
		return err
	}
	m.cycle.add(fmt.Sprintf("%s: %s", dir, strings.Join(members, " ")), lines)
	set, files, own, _, err := architecture.Check(dir)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(dir, filepath.Join("pkg", "api")) {
		m.addTypes(dir, own)
	}
	for _, file := range files {
		name := set.Position(file.Pos()).Filename
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(raw, []byte("DO NOT EDIT.")) {
			m.addLines(dir, name, raw)
		}
	}
	return nil
}

// addTypes counts the fields and methods of the types of a package.
func (m *measures) addTypes(dir string, own *types.Package) {
	for _, name := range own.Scope().Names() {
		named, ok := own.Scope().Lookup(name).Type().(*types.Named)
		if !ok {
			continue
		}
		m.methods.add(dir+"."+name, named.NumMethods())
		if shape, isStruct := named.Underlying().(*types.Struct); isStruct && !strings.Contains(strings.ToLower(name), "options") {
			m.fields.add(dir+"."+name, shape.NumFields())
		}
	}
}

// addLines counts the lines of a file in a directory.
func (m *measures) addLines(dir, name string, raw []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "//"):
			m.comments++
		default:
			m.code[dir]++
			if !slices.Contains(policyFiles, name) && relation.MatchString(line) {
				m.related++
			}
		}
	}
}
