package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
)

// manyOf returns a status with n resources, each of which is passed to change.
func manyOf(n int, change func(i int, r *ResourceView)) StatusView {
	v := StatusView{Ready: "True", Message: "all is well"}
	for i := range n {
		v.Resources = append(v.Resources, resource("ConfigMap", fmt.Sprint("c-", i), func(r *ResourceView) { change(i, r) }))
	}
	return v
}

func TestAStatusOfVeryMany(t *testing.T) {
	drifted := explain.Field{Path: "data.mode", State: explain.Held, Drift: delta.Changed}
	quiet := func(int, *ResourceView) {}
	rows := []struct {
		name   string
		n      int
		change func(int, *ResourceView)
		listed int // number of resource lines
		rest   string
	}{
		{"few are listed", 100, quiet, 100, ""},
		{"all are as they should be", 101, quiet, 0, "101 resources, all in sync: --all lists them"},
		{"what drifted, failed, was corrected or is contested is listed", 10000, func(i int, r *ResourceView) {
			switch i {
			case 7:
				r.fields = []explain.Field{drifted}
			case 5000:
				r.Health, r.Message = "Failed", "no"
			case 9998:
				r.LastCorrection = now.Add(-time.Minute).Format(time.RFC3339)
			case 9999:
				r.fields = []explain.Field{{Path: "data.x", State: explain.Contested}}
			case 1:
				r.LastCorrection = now.Add(-2 * time.Hour).Format(time.RFC3339)
			}
		}, 4, "… and 9996 more, all in sync: --all lists them"},
		{"of very many that drifted some are listed", 1000, func(i int, r *ResourceView) {
			if i < 300 {
				r.fields = []explain.Field{drifted}
			}
		}, 100, "… and 200 more with something to report, and 700 in sync: --all lists them"},
		{"none is as it should be", 101, func(_ int, r *ResourceView) { r.fields = []explain.Field{drifted} }, 100,
			"… and 1 more with something to report: --all lists them"},
		{"of entries of spec.select it is said elsewhere", 500, func(i int, r *ResourceView) {
			if r.selected = i != 3; i == 4 {
				r.fields = []explain.Field{drifted}
			}
		}, 1, "… and 1 more, all in sync: --all lists them"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			v := manyOf(row.n, row.change)
			text := statusText(t, 80, v)
			_, table, _ := strings.Cut(text, "writes as the controller's default ServiceAccount")
			if at := strings.Index(table, "\nRESOURCE"); at > 0 {
				table = table[at:]
			}
			assert.Equal(t, row.listed, strings.Count(table, "  60m  "))
			if row.rest != "" {
				assert.Contains(t, table, "\n"+row.rest)
			}
			assert.Equal(t, row.rest != "", strings.Contains(table, "--all"))
			for line := range strings.Lines(text) {
				assert.LessOrEqual(t, terminal.Length(strings.TrimRight(line, "\n")), 80)
			}
			var out bytes.Buffer
			require.NoError(t, (&StatusText{StatusView: v, Output: Output{Palette: palette(t, "never"), Width: 80, Now: now}, All: true}).Print(&out))
			assert.Equal(t, row.n, strings.Count(out.String(), "  60m  "), "with --all")
			assert.NotContains(t, out.String(), "--all")
		})
	}
}
