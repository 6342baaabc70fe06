package prose

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Kind is a kind of text with a rate of its own.
type Kind string

// The kinds of text.
const (
	Comments    Kind = "comments"
	Strings     Kind = "strings"
	Markdown    Kind = "markdown"
	Identifiers Kind = "identifiers"
	TestNames   Kind = "testNames"
)

// Match is one match of a pattern.
type Match struct {
	Kind          Kind
	File          string
	Line          int
	Pattern, Text string
}

// Result contains the matches of a directory, and the number of words of each kind.
type Result struct {
	Words   map[Kind]int
	Matches []Match
}

// skippedDirectories are not measured, and neither are hidden directories.
var skippedDirectories = []string{"vendor", "node_modules", "third_party", "bin"}

// generatedYAML are the files and directories of deploy that generators write from the others, or from Go comments.
var generatedYAML = []string{"deploy/crd", "deploy/install.yaml", "deploy/helm/holdfast/files"}

// Measure returns the matches in all Go and Markdown files below a directory, and in the YAML files of deploy.
func Measure(root string) (Result, error) {
	files, total := []string{}, Result{Words: map[Kind]int{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case path == root:
		case entry.IsDir() && name == "testdata":
			total.add(goldenDirectories(root, path))
			return fs.SkipDir
		case entry.IsDir() && (strings.HasPrefix(name, ".") || slices.Contains(skippedDirectories, name)):
			return fs.SkipDir
		case slices.Contains(generatedYAML, relative(root, path)):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case filepath.Ext(name) == ".yaml" && strings.HasPrefix(relative(root, path), "deploy/"):
			files = append(files, path)
		case filepath.Ext(name) == ".md", filepath.Ext(name) == ".go" && !strings.HasPrefix(name, "zz_generated"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	err = total.addFiles(root, files)
	slices.SortFunc(total.Matches, func(a, b Match) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Pattern, b.Pattern))
	})
	return total, err
}

// goldenDirectories measures the names of test cases, which are directories below testdata.
func goldenDirectories(root, testdata string) Result {
	r := Result{Words: map[Kind]int{}}
	_ = filepath.WalkDir(testdata, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && strings.Count(entry.Name(), "-") >= 2 {
			r.paragraph(relative(root, path), paragraph{TestNames, []line{{1, words(entry.Name())}}})
		}
		return nil
	})
	return r
}

// addFiles measures files concurrently.
func (r *Result) addFiles(root string, files []string) (err error) {
	var running sync.WaitGroup
	var mu sync.Mutex
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, path := range files {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			one, failure := measureFile(path, relative(root, path))
			mu.Lock()
			defer mu.Unlock()
			r.add(one)
			err = cmp.Or(err, failure)
		})
	}
	running.Wait()
	return err
}

func relative(root, path string) string {
	name, _ := filepath.Rel(root, path) // path is below root
	return filepath.ToSlash(name)
}

func (r *Result) add(other Result) {
	for kind, n := range other.Words {
		r.Words[kind] += n
	}
	r.Matches = append(r.Matches, other.Matches...)
}

// measureFile measures one file. It ignores generated Go files.
func measureFile(path, name string) (Result, error) {
	r := Result{Words: map[Kind]int{}}
	source, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	read := map[string]func(string) []paragraph{".md": markdownParagraphs, ".yaml": yamlParagraphs}[filepath.Ext(path)]
	if read != nil {
		for _, p := range read(string(source)) {
			r.paragraph(name, p)
		}
		return r, nil
	}
	if bytes.Contains(source[:min(len(source), 600)], []byte("DO NOT EDIT")) {
		return r, nil
	}
	found, err := goContent(name, source)
	for _, p := range found.paragraphs {
		r.paragraph(name, p)
	}
	for _, d := range found.definitions {
		r.Matches = append(r.Matches, Match{Comments, name, d.number, "defaction", d.text})
	}
	for _, i := range found.identifiers {
		r.Words[Identifiers]++
		if i.pattern != "" {
			r.Matches = append(r.Matches, Match{Identifiers, name, i.line, i.pattern, i.name})
		}
	}
	return r, err
}

// paragraph counts the words and matches of a paragraph.
func (r *Result) paragraph(file string, p paragraph) {
	var text strings.Builder
	starts := make([]int, len(p.lines))
	for i, l := range p.lines {
		if i > 0 {
			text.WriteByte(' ')
		}
		starts[i] = text.Len()
		text.WriteString(l.text)
	}
	all := text.String()
	r.Words[p.kind] += len(word.FindAllString(all, -1))
	lower := strings.ToLower(all)
	if len(lower) != len(all) {
		lower = all // lower case has another length in some scripts; hints are ASCII
	}
	for i := range patterns {
		for _, at := range patterns[i].find(all, lower) {
			index, exact := slices.BinarySearch(starts, at[0])
			if !exact {
				index--
			}
			excerpt := strings.ToValidUTF8(all[max(0, at[0]-40):min(len(all), at[1]+40)], "")
			r.Matches = append(r.Matches, Match{p.kind, file, p.lines[index].number, patterns[i].id, excerpt})
		}
	}
}

// Rates returns the number of matches per 1,000 words of each kind, rounded to two decimals.
func (r Result) Rates() map[Kind]float64 {
	counts := map[Kind]int{}
	for _, m := range r.Matches {
		counts[m.Kind]++
	}
	rates := map[Kind]float64{}
	for kind, n := range r.Words {
		rates[kind] = float64(int(float64(counts[kind])*100_000/float64(n)+0.5)) / 100
	}
	return rates
}

// WorstFiles returns the files with the most matches of the given kinds, at most n of them.
func (r Result) WorstFiles(kinds []Kind, n int) []string {
	counts := map[string]int{}
	for _, m := range r.Matches {
		if slices.Contains(kinds, m.Kind) {
			counts[m.File]++
		}
	}
	files := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return files[:min(n, len(files))]
}

// Advice returns how to avoid a pattern.
func Advice(id string) string {
	switch id {
	case "defaction":
		return "start with a verb: returns, reports whether, adds"
	case "oddtype":
		return "use a noun: release, handoff, churn, pendingDrift"
	case "oddfunc":
		return "use a verb phrase, or the noun that is returned"
	}
	at := slices.IndexFunc(patterns, func(p pattern) bool { return p.id == id })
	return patterns[at].fix
}
