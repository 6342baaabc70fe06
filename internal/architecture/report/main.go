// The program prints the measures of the architecture of the packages below pkg: the largest cycles of files, the
// largest struct and method set, the amount of code and comments, and the lines that ask how an Application is related
// to an object. Run it as "make engine-report".
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/types"
	"io/fs"
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

// measures are the numbers of all packages.
type measures struct {
	cycle, fields, methods  largest
	code, comments, related int
}

func main() {
	m := measures{}
	if err := filepath.WalkDir("pkg", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return m.addPackage(path)
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%-64s %6d  %s\n", "lines of the largest cycle of files", m.cycle.n, m.cycle.name)
	fmt.Printf("%-64s %6d\n", "lines outside the policy that ask for the relation to an object", m.related)
	fmt.Printf("%-64s %6d  %s\n", "fields of the largest struct, without pkg/api and options", m.fields.n, m.fields.name)
	fmt.Printf("%-64s %6d  %s\n", "methods of the largest type", m.methods.n, m.methods.name)
	fmt.Printf("%-64s %6d\n", "lines of code", m.code)
	fmt.Printf("%-64s %6.2f\n", "lines of comments per line of code", float64(m.comments)/float64(m.code))
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
			m.addLines(name, raw)
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

// addLines counts the lines of a file.
func (m *measures) addLines(name string, raw []byte) {
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "":
		case strings.HasPrefix(line, "//"):
			m.comments++
		default:
			if m.code++; !slices.Contains(policyFiles, name) && relation.MatchString(line) {
				m.related++
			}
		}
	}
}
