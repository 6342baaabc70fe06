package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

// Names of figures. tools/plots draws some of them.
const (
	readyPerSecond = "readyPerSecond"
	requestsEach   = "requestsEach"
	driftHalf      = "driftP50Milliseconds"
	driftMost      = "driftP99Milliseconds"
	stormSeconds   = "stormSeconds"
	stormSubmitted = "stormSubmittedSeconds"
	requestsDrift  = "requestsPerDriftOfStorm"
	requestsRest   = "requestsAtRest"
	memory         = "memoryMiB"
	memoryPeak     = "memoryPeakMiB"
	otherWork      = "otherWorkPercent"
)

// report contains the results of one run.
type report struct {
	Machine string `json:"machine"`
	// Drifts is the number of single drifts per subject.
	Drifts  int      `json:"drifts"`
	Results []result `json:"results"`
}

// result contains the figures of one subject with n resources. If a figure is missing or has fewer drifts,
// Problem is the reason.
type result struct {
	Subject string `json:"subject"`
	N       int    `json:"n"`
	// Run is the date of the run. Only figures of one run are comparable.
	Run     string             `json:"run"`
	Figures map[string]float64 `json:"figures"`
	Problem string             `json:"problem,omitempty"`
}

var columns = []string{
	"n", "program", "Ready per second", "requests per resource", "one drift, p50 / p99", "n drifts at once: reverted (made in)",
	"requests per drift of these", "requests in 20 s of rest afterwards", "memory (peak)",
}

// cells returns a row of the table.
func (r result) cells() []string {
	return []string{
		strconv.Itoa(r.N), r.Subject,
		r.cell("%.0f", readyPerSecond), r.cell("%.1f", requestsEach),
		r.cell("%.1f / %.1f ms", driftHalf, driftMost), r.cell("%.2f s (%.2f s)", stormSeconds, stormSubmitted),
		r.cell("%.1f", requestsDrift), r.cell("%.0f", requestsRest), r.cell("%.0f MiB (%.0f MiB)", memory, memoryPeak),
	}
}

func (r result) cell(format string, names ...string) string {
	values := make([]any, len(names))
	for i, name := range names {
		value, ok := r.Figures[name]
		if !ok {
			return "–"
		}
		values[i] = value
	}
	return fmt.Sprintf(format, values...)
}

// markdown returns a table for each run, the missing figures with reasons, and the machine.
func (r report) markdown() string {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	ordered := slices.Clone(r.Results)
	slices.SortStableFunc(ordered, func(a, b result) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.N, b.N)) })
	for i, one := range ordered {
		if i == 0 || one.Run != ordered[i-1].Run {
			fmt.Fprintf(&text, "%sRun of %s:\n\n", strings.Repeat("\n", min(i, 1)), one.Run)
			line(columns)
			line(slices.Repeat([]string{"---"}, len(columns)))
		}
		line(one.cells())
	}
	begin := "\n"
	for _, one := range ordered {
		if one.Problem != "" {
			fmt.Fprintf(&text, "%s* %s, n = %d: %s\n", begin, one.Subject, one.N, one.Problem)
			begin = ""
		}
	}
	fmt.Fprintf(&text, "\nMeasured on %s, with %d single drifts for each row.\n%s\n", r.Machine, r.Drifts, otherWorkOf(r.Results))
	return text.String()
}

// otherWorkOf describes how much other load there was during the measurement.
func otherWorkOf(results []result) string {
	var shares []float64
	for _, one := range results {
		if share, ok := one.Figures[otherWork]; ok {
			shares = append(shares, share)
		}
	}
	if len(shares) == 0 {
		return "What else the machine did is not known."
	}
	return fmt.Sprintf("In the two seconds before each row, when nothing of this ran, other work took %.0f to %.0f %% of the processors.",
		slices.Min(shares), slices.Max(shares))
}

const (
	beginMark = "<!-- written by make bench-peers: begin -->\n"
	endMark   = "<!-- written by make bench-peers: end -->\n"
)

// replaceMarked replaces the text between the markers of a page.
func replaceMarked(page, text string) (string, error) {
	before, rest, begins := strings.Cut(page, beginMark)
	_, after, ends := strings.Cut(rest, endMark)
	if !begins || !ends {
		return "", fmt.Errorf("the page lacks %q or %q", strings.TrimSpace(beginMark), strings.TrimSpace(endMark))
	}
	return before + beginMark + "\n" + text + "\n" + endMark + after, nil
}

// compare measures with each of the sizes, and writes the figures after every row.
func compare(ctx context.Context, sizes, output string, c comparison) error {
	for _, size := range strings.Fields(sizes) {
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("-peers %q: %w", sizes, err)
		}
		c.sizes = append(c.sizes, n)
	}
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	c.root, c.directory, c.date = root, filepath.Join(root, ".holdfast", "peers"), time.Now().Format(time.DateOnly)
	r := report{Drifts: c.drifts}
	if r.Machine, err = machine(ctx); err != nil {
		return err
	}
	fmt.Printf("%s\n\n%s\n", r.Machine, strings.Join(columns, " | "))
	return c.run(ctx, func(results []result) error {
		r.Results = results
		if output == "" && c.only != "" {
			return nil // the documentation contains only complete runs
		}
		return r.write(root, output)
	})
}

// write writes the figures to a file, or the table to the documentation.
func (r report) write(root, output string) error {
	var raw bytes.Buffer
	encoder := json.NewEncoder(&raw)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return err
	}
	if output != "" {
		return os.WriteFile(output, raw.Bytes(), 0o644)
	}
	name := filepath.Join(root, "docs", "benchmarks.md")
	page, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := replaceMarked(string(page), r.markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "benchmarks", "peers.json"), raw.Bytes(), 0o644)
}

// machine describes the machine.
func machine(ctx context.Context) (string, error) {
	program, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", err
	}
	versions := map[string]string{}
	for _, dependency := range info.Deps {
		versions[dependency.Path] = dependency.Version
	}
	return fmt.Sprintf("%d cores, %s/%s, %s; kube-apiserver %s with its audit log, etcd %s and the driver on the same machine",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), versions["k8s.io/kubernetes"], versions["go.etcd.io/etcd/server/v3"]), nil
}
