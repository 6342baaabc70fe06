// Command plots draws the results of `make bench-peers`. Its argument is the directory of peers.json, to
// which it writes one SVG per figure.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	_ "gonum.org/v1/plot/vg/vgsvg" // draws SVG
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("usage: plots DIRECTORY")
	}
	directory := arguments[0]
	results, err := read(filepath.Join(directory, "peers.json"))
	if err != nil {
		return err
	}
	for file, of := range map[string]struct {
		figure, title string
		powers        bool
	}{
		"rate.svg":     {"readyPerSecond", "Ready per second (more is better)", false},
		"requests.svg": {"requestsEach", "Requests per resource (fewer is better)", false},
		"memory.svg":   {"memoryMiB", "Resident memory, MiB, logarithmic (less is better)", true},
	} {
		drawing, err := draw(results, of.figure, of.title)
		if err != nil {
			return fmt.Errorf("drawing %s: %w", file, err)
		}
		if of.powers { // the values differ by a factor of a hundred
			drawing.Y.Min, drawing.Y.Max = 10, math.Pow(10, math.Ceil(math.Log10(drawing.Y.Max)))
			drawing.Y.Scale, drawing.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		}
		if err := drawing.Save(18*vg.Centimeter, 10*vg.Centimeter, filepath.Join(directory, file)); err != nil {
			return err
		}
	}
	return nil
}

// result is the output format of internal/bench. Figures that were not measured are missing.
type result struct {
	Subject string             `json:"subject"`
	N       int                `json:"n"`
	Figures map[string]float64 `json:"figures"`
}

// read returns the results by n, and for each n in the order of measurement.
func read(file string) ([]result, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report struct {
		Results []result `json:"results"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	slices.SortStableFunc(report.Results, func(a, b result) int { return cmp.Compare(a.N, b.N) })
	return report.Results, nil
}

// draw draws a line over n for each subject. The axes start at zero.
func draw(results []result, figure, title string) (*plot.Plot, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text, p.X.Label.Text = title, "resources"
	p.Legend.Top, p.Legend.ThumbnailWidth, p.Legend.TextStyle.Font.Size, p.Legend.Padding = true, vg.Centimeter, 9, 2
	p.Y.Min = 0
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Transparent, color.Gray{Y: 220}
	p.Add(grid)
	var subjects []string
	lines := map[string]plotter.XYs{}
	var ticks plot.ConstantTicks
	for _, r := range results {
		if !slices.Contains(subjects, r.Subject) {
			subjects = append(subjects, r.Subject)
		}
		if value, ok := r.Figures[figure]; ok {
			lines[r.Subject] = append(lines[r.Subject], plotter.XY{X: float64(r.N), Y: value})
		}
		ticks = append(ticks, plot.Tick{Value: float64(r.N), Label: strconv.Itoa(r.N)})
	}
	p.X.Tick.Marker = slices.Compact(ticks)
	for i, subject := range subjects {
		if len(lines[subject]) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(lines[subject])
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		line.Width, points.Shape, points.Radius = 2, plotutil.Shape(i), 4
		line.Dashes = plotutil.Dashes(i / len(plotutil.DefaultColors)) // the colors repeat
		p.Add(line, points)
		p.Legend.Add(strings.ReplaceAll(subject, "`", ""), line, points)
	}
	if len(results) > 0 {
		p.X.Min, p.X.Max = 0, 2.2*float64(results[len(results)-1].N) // leaves room for the legend
	}
	p.Y.Max *= 1.05
	return p, nil
}
