package manifests_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/internal/facts"
)

// documented returns the metrics in docs/operations.md. Tests in deploy check that a running controller
// exposes them.
func documented(t *testing.T) []string {
	t.Helper()
	return facts.Metrics(t, "../../docs/operations.md")
}

var series = regexp.MustCompile(`_(bucket|sum|count)$`)

// assertAsks checks that an expression is valid and uses only documented metrics.
func assertAsks(t *testing.T, expression string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err)
	asked := 0
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			asked++
			name := selector.Name
			if !slices.Contains(documented(t), name) {
				name = series.ReplaceAllString(name, "")
			}
			assert.Contains(t, documented(t), name, expression)
		}
		return nil
	})
	assert.Positive(t, asked, "%s asks for nothing", expression)
}

func alerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(deployed+"/monitoring/alerts.yaml", false, model.UTF8Validation, parser.NewParser(parser.Options{}), nil)
	require.Empty(t, errs)
	found := map[string]rulefmt.Rule{}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			found[rule.Alert] = rule
		}
	}
	return found
}

func TestAlertsUseExistingMetrics(t *testing.T) {
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	for name, rule := range alerts(t) {
		assertAsks(t, rule.Expr)
		assert.NotEmpty(t, rule.Annotations["summary"], name)
		assert.NotEmpty(t, rule.Annotations["description"], name)
		assert.Contains(t, []string{"warning", "critical"}, rule.Labels["severity"], name)
		assert.Contains(t, string(text), "\n| `"+name+"` |", "docs/operations.md has the remedy")
	}
}

// modes contains the series of all ways to run the controller, by which HoldfastNotLeading tells them apart.
// Other controllers have leaders, too.
var modes = map[string]string{
	"leader election": `holdfast_build_info{instance="a"} 1x60
holdfast_build_info{instance="b"} 1x60
leader_election_master_status{name="holdfast-controller", instance="a"} 1x60
leader_election_master_status{name="holdfast-controller", instance="b"} 0x60
leader_election_master_status{name="other", instance="c"} 0x60`,
	"several controllers": `holdfast_build_info{instance="a"} 1x60
holdfast_build_info{instance="b"} 1x60
holdfast_build_info{instance="c"} 1x60
leader_election_master_status{name="holdfast-controller", instance="a"} 1x60
leader_election_master_status{name="holdfast-controller-b", instance="b"} 0x60
leader_election_master_status{name="holdfast-controller-b", instance="c"} 1x60`,
	"no leader election": `holdfast_build_info{instance="a"} 1x60
leader_election_master_status{name="other", instance="c"} 0x60`,
}

// quiet contains the other series of a controller without problems. It has Applications of every mode.
const quiet = `holdfast_contested_fields 0x60
holdfast_stalled_applications 0x60
holdfast_suspended_applications 1x60
holdfast_observing_applications 2x60
holdfast_dead_watches 0x60
holdfast_applications{ready="True"} 5x60
holdfast_applications{ready="False"} 3x60
holdfast_reconciles_total{result="success"} 0+10x60
holdfast_reconciles_total{result="error"} 0+1x60
holdfast_reconciles_total{result="panic"} 0x60
workqueue_queue_duration_seconds_bucket{name="applications", le="10"} 0+10x60
workqueue_queue_duration_seconds_bucket{name="applications", le="100"} 0+10x60
workqueue_queue_duration_seconds_bucket{name="applications", le="+Inf"} 0+10x60`

// load returns a load for samples: the base, in which the changes replace the series with the same name and
// labels.
func load(base, changes string) string {
	replaced := map[string]bool{}
	for change := range strings.SplitSeq(changes, "\n") {
		replaced[seriesOf(change)] = true
	}
	lines := slices.DeleteFunc(strings.Split(base, "\n"), func(line string) bool { return replaced[seriesOf(line)] })
	return "load 1m\n  " + strings.Join(append(lines, strings.Split(changes, "\n")...), "\n  ") + "\n"
}

// seriesOf returns the name and the labels of a line of a load.
func seriesOf(line string) string {
	name, _, _ := strings.Cut(line, " ")
	if before, _, labelled := strings.Cut(line, "} "); labelled {
		return before
	}
	return name
}

// Each alert fires for its problem, however the controller runs.
func TestAlertsFire(t *testing.T) {
	type row struct{ alert, changes string }
	problems := []row{
		{"HoldfastContested", "holdfast_contested_fields 2x60"},
		{"HoldfastStalled", "holdfast_stalled_applications 1x60"},
		{"HoldfastNotConverging", `holdfast_applications{ready="False"} 4x60`},
		{"HoldfastNotConverging", `holdfast_applications{ready="Unknown"} 1x60`},
		{"HoldfastBlind", "holdfast_dead_watches 1x60"},
		{"HoldfastErrors", "holdfast_reconciles_total{result=\"success\"} 0+1x60\nholdfast_reconciles_total{result=\"error\"} 0+3x60"},
		{"HoldfastPanics", `holdfast_reconciles_total{result="panic"} 0x50 1x10`},
		{"HoldfastBehind", `workqueue_queue_duration_seconds_bucket{name="applications", le="10"} 0x60`},
	}
	leaderless := map[string]string{
		"leader election":     `leader_election_master_status{name="holdfast-controller", instance="a"} 0x60`,
		"several controllers": `leader_election_master_status{name="holdfast-controller-b", instance="c"} 0x60`,
	}
	for mode, series := range modes {
		rows := problems
		if changes := leaderless[mode]; changes != "" {
			rows = append(slices.Clone(rows), row{"HoldfastNotLeading", changes})
		}
		for _, row := range rows {
			t.Run(mode+" "+row.alert, func(t *testing.T) {
				var firing []string
				problem := database(t, load(quiet+"\n"+series, row.changes))
				for name, rule := range alerts(t) {
					if seriesCount(t, problem, rule.Expr) > 0 {
						firing = append(firing, name)
					}
				}
				assert.Equal(t, []string{row.alert}, firing)
			})
		}
	}
	t.Run("no controller", func(t *testing.T) {
		assert.Equal(t, 1, seriesCount(t, database(t, load(`leader_election_master_status{name="other", instance="c"} 1x60`, "up 0x60")), alerts(t)["HoldfastNotLeading"].Expr))
	})
}

// No alert fires without a problem. Applications that are suspended, observe-only or stalled are not ready,
// and do not count as not converging.
func TestAlertsDoNotFire(t *testing.T) {
	for mode, series := range modes {
		t.Run(mode, func(t *testing.T) {
			healthy := database(t, load(quiet+"\n"+series, "up 1x60"))
			for name, rule := range alerts(t) {
				assert.Zero(t, seriesCount(t, healthy, rule.Expr), name)
			}
			stalled := database(t, load(quiet+"\n"+series, "holdfast_stalled_applications 1x60\nholdfast_applications{ready=\"False\"} 4x60"))
			assert.Zero(t, seriesCount(t, stalled, alerts(t)["HoldfastNotConverging"].Expr))
		})
	}
}

// database returns a database with the samples of a load. To open it takes longer than all queries.
func database(t *testing.T, load string) *teststorage.TestStorage {
	t.Helper()
	return promqltest.LoadedStorage(t, load)
}

// seriesCount returns the number of series of an expression after an hour of a load.
func seriesCount(t *testing.T, storage storage.Queryable, expression string) int {
	t.Helper()
	engine := promqltest.NewTestEngine(t, false, 0, 1000)
	query, err := engine.NewInstantQuery(t.Context(), storage, nil, expression, time.Unix(0, 0).Add(time.Hour))
	require.NoError(t, err)
	defer query.Close()
	vector, err := query.Exec(t.Context()).Vector()
	require.NoError(t, err)
	return len(vector)
}

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []panel
}

type panel struct {
	ID          int
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	Datasource  struct{ Type, UID string }
	Targets     []struct{ RefID, Expr string }
}

func TestDashboardUsesExistingMetrics(t *testing.T) {
	text, err := os.ReadFile(deployed + "/monitoring/dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	assert.NotEmpty(t, d.UID)
	assert.GreaterOrEqual(t, d.SchemaVersion, 36, "older ones have other data sources")
	require.NotEmpty(t, d.Panels)
	variables := map[string]string{}
	for _, variable := range d.Templating.List {
		variables[variable.Name] = variable.Type
	}
	assert.Equal(t, "datasource", variables["datasource"])
	ids := map[int]bool{}
	for i, p := range d.Panels {
		assert.False(t, ids[p.ID], "%s: its ID is another panel's", p.Title)
		ids[p.ID] = true
		assert.Contains(t, []string{"timeseries", "stat"}, p.Type)
		assert.Equal(t, "${datasource}", p.Datasource.UID)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			expression := strings.NewReplacer("$__rate_interval", "5m", "$job", "holdfast").Replace(target.Expr)
			assert.NotContains(t, expression, "$", "a variable that there is not")
			assertAsks(t, expression)
		}
		for _, other := range d.Panels[:i] {
			assert.False(t, p.overlaps(other), "%s lies on %s", p.Title, other.Title)
		}
	}
}

func (p panel) overlaps(other panel) bool {
	a, b := p.GridPos, other.GridPos
	return a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H
}

// The dashboard matches Grafana's types: it has no unknown field and no invalid value.
func TestDashboardIsValid(t *testing.T) {
	text, err := os.ReadFile("testdata/grafana/dashboard.schema.json")
	require.NoError(t, err)
	digests, err := os.ReadFile("testdata/grafana/README.md")
	require.NoError(t, err)
	require.Contains(t, string(digests), fmt.Sprintf("sha256:%x of", sha256.Sum256(text)), "the vendored files match README.md")
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("dashboard.json", content))
	schema, err := compiler.Compile("dashboard.json")
	require.NoError(t, err)
	stored, err := os.ReadFile(deployed + "/monitoring/dashboard.json")
	require.NoError(t, err)
	judged := func(text string) error {
		d, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		require.NoError(t, err)
		return schema.Validate(d)
	}
	require.NoError(t, judged(string(stored)))
	for _, mistake := range [][2]string{
		{`"gridPos"`, `"gridpos"`}, {`"type": "stat"`, `"type": "number"`}, {`"colorMode": "value"`, `"colorMode": "values"`}, {`"calcs": [`, `"calcs": [7, `},
		{`"schemaVersion": `, `"schemaVersion": "x", "version": `}, {`"fieldConfig"`, `"fieldConfigs"`},
	} {
		text := strings.Replace(string(stored), mistake[0], mistake[1], 1)
		require.NotEqual(t, string(stored), text, mistake[0])
		assert.Error(t, judged(text), mistake[1])
	}
}
