package program

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
)

// standard lists well-known metrics of Kubernetes and Go under their usual names.
var standard = []string{
	"workqueue_depth", "workqueue_adds_total", "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds", "workqueue_retries_total",
	"rest_client_requests_total", "rest_client_request_duration_seconds", "leader_election_master_status",
	"go_goroutines", "go_memstats_heap_inuse_bytes", "process_cpu_seconds_total", "process_resident_memory_bytes",
	"holdfast_reconciles_total", "holdfast_reconcile_duration_seconds", "holdfast_applications", "holdfast_stalled_applications",
	"holdfast_contested_fields", "holdfast_held_objects", "holdfast_stored_bytes", "holdfast_watches", "holdfast_dead_watches", "holdfast_corrections_total",
}

func TestHealthAndMetricsEndpoints(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	p := start(t, c, append(elected(namespace), "--profiling-bind-address=127.0.0.1:0")...)
	p.Says(leads)
	submit(t, c, namespace, "app", "")
	awaitReady(t, c, namespace, "app")
	drift(t, c, namespace, "app")
	awaitCorrected(t, c, namespace, "app")

	for _, path := range []string{"/healthz", "/readyz"} {
		status, body := p.Get(path)
		assert.Equal(t, 200, status, path)
		assert.Equal(t, "ok\n", body)
	}
	status, _ := p.Get("/debug/pprof/")
	assert.Equal(t, 404, status, "profiles have an address of their own")
	status, body := p.get("http://" + p.Address("Serving profiles") + "/debug/pprof/goroutine?debug=1")
	assert.Equal(t, 200, status)
	assert.Contains(t, body, "goroutine profile")
	status, _ = p.get("http://" + p.Address("Serving profiles") + "/debug/pprof/cmdline")
	assert.Equal(t, 404, status, "what is in the flags is not for the profile")
	_, text := p.Get("/metrics")
	names := metricNames(text)
	for _, name := range standard {
		assert.Contains(t, names, name)
	}
	assert.Contains(t, text, `holdfast_corrections_total{group="",kind="ConfigMap",writer=`)
	assert.Contains(t, text, `workqueue_adds_total{name="applications"}`)
	assert.Equal(t, 1, strings.Count(text, namespace), "no label grows with what users make, except for 100 namespaces")
	assert.Contains(t, text, `holdfast_stored_bytes{namespace="`+namespace+`"}`)
	problems, err := promlint.New(strings.NewReader(own(text))).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
}

// metricNames returns the names in the HELP lines.
func metricNames(text string) []string {
	var names []string
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "# HELP "); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	return names
}

// own returns the lines with Holdfast's own metrics.
func own(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, "holdfast_") }), "")
}

// A process that cannot list Applications is live but not ready.
func TestNotReadyBeforeFirstList(t *testing.T) {
	t.Parallel()
	c, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	defer c.Stop()
	p := start(t, c, "--leader-elect=false")
	status, _ := p.Get("/healthz")
	assert.Equal(t, 200, status)
	status, body := p.Get("/readyz")
	assert.Equal(t, 503, status, body)

	require.NoError(t, define(t.Context(), c))
	p.until("ready", func() bool {
		status, _ := p.Get("/readyz")
		return status == 200
	})
}
