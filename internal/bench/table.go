package main

import (
	"fmt"
	"slices"
	"time"
)

// table prints rows as they are measured.
type table struct{}

const layout = "%-4s %-44s %-22s %-24s %s\n"

func (table) header() {
	fmt.Printf(layout, "row", "what", "measured", "bare client, same run", "target")
}

func (table) row(name, what, measured, floor, target string) {
	fmt.Printf(layout, name, what, measured, floor, target)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

// percentile returns a percentile of durations, which need not be sorted.
func percentile(all []time.Duration, p int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	ordered := slices.Sorted(slices.Values(all))
	return ordered[min(len(ordered)*p/100, len(ordered)-1)]
}

func rate(n int, d time.Duration) string {
	return fmt.Sprintf("%.0f/s", float64(n)/d.Seconds())
}
