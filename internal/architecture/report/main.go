// The program prints the measures of the architecture of the packages below pkg, and fails if one exceeds its bound: the
// largest cycles of files, the largest types, the code of each area, the amount of comments, and the lines
// that ask how an Application is related to an object. Run it as "make engine-report".
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdfast.dev/holdfast/internal/architecture"
)

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
	maxRelated    = 156
	maxOwnFields  = 15
	maxOwnMethods = 25
	minComments   = 0.25
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
	{"engine", 18050, []string{"claim", "delta", "explain", "health", "intent", "observer", "plan", "record", "suggestion", "writer"}},
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
	larger                 map[string]size // by the name of the type
	code                   map[string]int  // lines by directory
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
	m, packages := measures{larger: map[string]size{}, code: map[string]int{}}, loader{}
	if err := filepath.WalkDir("pkg", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return m.addPackage(packages, path)
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
		{"own fields of the largest struct, without pkg/api and options", m.fields, maxOwnFields},
		{"own methods of the largest type", m.methods, maxOwnMethods},
	}
	for _, a := range areas {
		rows = append(rows, row{"lines of code of the " + a.name, largest{n: m.codeOf(a.includes)}, a.bound})
	}
	exceeded := !m.areSmall()
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

func (m *measures) addPackage(packages loader, dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") }); err != nil || len(names) == 0 {
		return err
	}
	lines, members, err := architecture.LargestCycle(dir)
	if err != nil {
		return err
	}
	m.cycle.add(fmt.Sprintf("%s: %s", dir, strings.Join(members, " ")), lines)
	p, err := packages.load(dir)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(dir, filepath.Join("pkg", "api")) {
		m.addTypes(dir, p.own)
		m.addRelated(p)
	}
	for _, file := range p.files {
		name := p.set.Position(file.Pos()).Filename
		raw, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(raw, []byte("DO NOT EDIT.")) {
			m.addLines(dir, raw)
		}
	}
	return nil
}

// addLines counts the lines of a file in a directory.
func (m *measures) addLines(dir string, raw []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "//"):
			m.comments++
		default:
			m.code[dir]++
		}
	}
}
