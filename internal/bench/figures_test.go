package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

func TestBenchmarkTableMatchesFigures(t *testing.T) {
	root, err := binaries.Root()
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks", "peers.json"))
	require.NoError(t, err)
	var measured report
	require.NoError(t, json.Unmarshal(raw, &measured))
	require.NotEmpty(t, measured.Results)
	page, err := os.ReadFile(filepath.Join(root, "docs", "benchmarks.md"))
	require.NoError(t, err)
	current, err := replaceMarked(string(page), measured.markdown())
	require.NoError(t, err)
	assert.Equal(t, current, string(page), "run `make bench-peers`")
}

// Figures of two runs are not in one table.
func TestUnmeasuredRowHasReason(t *testing.T) {
	measured := report{Machine: "2 cores", Drifts: 200, Results: []result{
		{Subject: "slow", N: 1000, Run: "2026-11-23", Figures: map[string]float64{}, Problem: "all resources: " + errSlow.Error()},
		{Subject: "fast", N: 1000, Run: "2026-11-23", Figures: map[string]float64{
			readyPerSecond: 150, requestsEach: 5, driftHalf: 1.52, driftMost: 48, stormSeconds: 1.75, stormSubmitted: 1.291,
			requestsDrift: 2.04, requestsRest: 0, memory: 55, memoryPeak: 80, otherWork: 3.7,
		}},
		{Subject: "slow", N: 200, Run: "2026-11-27", Figures: map[string]float64{readyPerSecond: 3, requestsEach: 12}, Problem: "single drifts: 7 of 200: it ended"},
	}}
	head := "| " + strings.Join(columns, " | ") + " |\n|" + strings.Repeat(" --- |", len(columns))
	assert.Contains(t, measured.markdown(), `Run of 2026-11-23:

`+head+`
| 1000 | slow | – | – | – | – | – | – | – |
| 1000 | fast | 150 | 5.0 | 1.5 / 48.0 ms | 1.75 s (1.29 s) | 2.0 | 0 | 55 MiB (80 MiB) |

Run of 2026-11-27:

`+head+`
| 200 | slow | 3 | 12.0 | – | – | – | – | – |

* slow, n = 1000: all resources: did not finish in 10 min
* slow, n = 200: single drifts: 7 of 200: it ended

Measured on 2 cores, with 200 single drifts for each row.
In the two seconds before each row, when nothing of this ran, other work took 4 to 4 % of the processors.
`)
}

func TestReplaceMarkedText(t *testing.T) {
	changed, err := replaceMarked("# Title\n"+beginMark+"old\n"+endMark+"rest\n", "new")
	require.NoError(t, err)
	assert.Equal(t, "# Title\n"+beginMark+"\nnew\n"+endMark+"rest\n", changed)
	_, err = replaceMarked("# Title\n"+endMark+beginMark, "new")
	assert.ErrorContains(t, err, "lacks")
}

func TestInterruptedRunKeepsAllRows(t *testing.T) {
	c := comparison{sizes: []int{200, 1000}}
	rows, results := c.rows([]subject{{name: "ours"}, {name: "theirs"}})
	require.Len(t, rows, 4)
	assert.Contains(t, report{Results: results}.markdown(), `
| 200 | ours | – | – | – | – | – | – | – |
| 200 | theirs | – | – | – | – | – | – | – |
| 1000 | ours | – | – | – | – | – | – | – |
| 1000 | theirs | – | – | – | – | – | – | – |

* ours, n = 200: the run was interrupted
`)
	c.only = "our"
	rows, _ = c.rows([]subject{{name: "ours"}, {name: "theirs"}})
	assert.Len(t, rows, 2)
}
