package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/plan"
)

// many returns an Application with n ConfigMaps. Every hundredth one has drifted.
func many(t testing.TB, n int) files.Decision {
	t.Helper()
	var app, live strings.Builder
	app.WriteString("metadata: {name: shop, namespace: shop, generation: 1}\nspec:\n  manifest:\n")
	for i := range n {
		fmt.Fprintf(&app, "  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c-%05d}, data: {mode: live, level: info}}\n", i)
		mode := "live"
		if i%100 == 99 {
			mode = "off"
		}
		fmt.Fprintf(&live, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: c-%05d, namespace: shop, uid: u-%d}, data: {mode: %q, level: info}}\n", i, i, mode)
	}
	return decide(t, app.String(), live.String())
}

func pageOf(t testing.TB, d files.Decision) string {
	t.Helper()
	text, err := StatusFile(d, report.StatusOf(d), "holdfast", now)
	require.NoError(t, err)
	return string(text)
}

// A page lists all resources, and shows the fields of those that need attention.
func TestThePageOfVeryMany(t *testing.T) {
	text := pageOf(t, many(t, 1000))
	assert.Equal(t, 1000, strings.Count(text, `<li class="branch">`), "all are listed")
	require.Equal(t, mostObjects, strings.Count(text, "<article "), "and some are shown")
	_, objects, _ := strings.Cut(text, "<article ")
	for i := 99; i < 1000; i += 100 {
		var first string
		first, objects, _ = strings.Cut(objects, "</article>")
		assert.Contains(t, first, fmt.Sprintf("<h1>ConfigMap c-%05d", i), "those that drifted come first")
	}
	assert.Equal(t, mostObjects+10, strings.Count(text, `<a href="#configmap%2fshop%2fc-`), "no link leads nowhere, and ten fields drifted")
	const others = "This page has 200 of the 1000 resources field by field: first those of which there is something to tell. " +
		"Another one is shown by <code>holdfast explain shop KIND/NAME -n shop -o html</code>"
	assert.Equal(t, 2, strings.Count(text, others), "above and below")
	assert.Zero(t, strings.Count(pageOf(t, many(t, mostObjects)), "This page has"))
}

// The page size is proportional to the number of listed resources. A plan is truncated.
func TestThePageGrowsWithTheList(t *testing.T) {
	one, two, three := len(pageOf(t, many(t, 1000))), len(pageOf(t, many(t, 2000))), len(pageOf(t, many(t, 3000)))
	assert.Less(t, two, 2*one)
	assert.InDelta(t, two-one, three-two, float64(two-one)/2, "each resource of the list takes as much as the one before")

	d := many(t, 300)
	clear(d.Live)
	text := pageOf(t, files.Decision{Subject: d.Subject, Plan: plan.Decide(plan.Input{Application: d.Application, Kinds: d.Kinds}), Live: d.Live, Kinds: d.Kinds})
	assert.Equal(t, 1, strings.Count(text, "Plan: 300 to create"))
	assert.Equal(t, 1, strings.Count(text, "more lines: run `holdfast diff shop -n shop`"))
}

func BenchmarkStatusFile(b *testing.B) {
	for _, n := range []int{500, 1000, 2000, 10000} {
		d := many(b, n)
		view := report.StatusOf(d)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				text, err := StatusFile(d, view, "holdfast", now)
				require.NoError(b, err)
				b.ReportMetric(float64(len(text)), "bytes")
			}
		})
	}
}
