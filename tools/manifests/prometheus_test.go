package manifests_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/internal/testcluster/installed"
)

// monitor contains the parts of Prometheus that scrape, store and evaluate rules.
type monitor struct {
	t       *testing.T
	storage *teststorage.TestStorage
	engine  *promql.Engine
	rules   *rules.Manager
}

var patience = regexp.MustCompile(`(?m)^ {4}for: \d+m$`)

// watch scrapes an address and evaluates the alert rules, both at least every second. The delay of alerts
// is shortened, but longer than a scrape interval, because a busy machine can miss a scrape.
func watch(t *testing.T, address string) *monitor {
	t.Helper()
	m := &monitor{t: t, storage: teststorage.New(t), engine: promqltest.NewTestEngine(t, false, 0, 100_000)}
	settings, err := config.Load("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs: [{job_name: holdfast}]", promslog.NewNopLogger())
	require.NoError(t, err)
	scraping, err := scrape.NewManager(&scrape.Options{DiscoveryReloadOnStartup: true}, nil, nil, m.storage, nil, prometheus.NewRegistry())
	require.NoError(t, err)
	require.NoError(t, scraping.ApplyConfig(settings))
	targets := make(chan map[string][]*targetgroup.Group, 1)
	targets <- map[string][]*targetgroup.Group{"holdfast": {{Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(address)}}}}}
	go func() { assert.NoError(t, scraping.Run(targets)) }()
	t.Cleanup(scraping.Stop)

	text, err := os.ReadFile(deployed + "/monitoring/alerts.yaml")
	require.NoError(t, err)
	require.Regexp(t, patience, string(text))
	file := filepath.Join(t.TempDir(), "alerts.yaml")
	require.NoError(t, os.WriteFile(file, patience.ReplaceAll(text, []byte("    for: 4s")), 0o600))
	m.rules = rules.NewManager(&rules.ManagerOptions{
		Context: t.Context(), ExternalURL: &url.URL{}, Appendable: m.storage, Queryable: m.storage,
		QueryFunc:  rules.EngineQueryFunc(m.engine, m.storage),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
	})
	require.NoError(t, m.rules.Update(300*time.Millisecond, []string{file}, labels.EmptyLabels(), "", nil))
	go m.rules.Run()
	t.Cleanup(m.rules.Stop)
	return m
}

// firing returns the names of the firing alerts. It checks that every rule can be evaluated.
func (m *monitor) firing() []string {
	m.t.Helper()
	var names []string
	for _, rule := range m.rules.AlertingRules() {
		require.NoError(m.t, rule.LastError(), rule.Name())
		if rule.State() == rules.StateFiring {
			names = append(names, rule.Name())
		}
	}
	slices.Sort(names)
	return names
}

// says returns the description of a firing alert.
func (m *monitor) says(name string) string {
	m.t.Helper()
	for _, rule := range m.rules.AlertingRules() {
		if alerts := rule.ActiveAlerts(); rule.Name() == name && len(alerts) > 0 {
			return alerts[0].Annotations.Get("description")
		}
	}
	return ""
}

// series returns the current number of series of an expression.
func (m *monitor) series(expression string) int {
	m.t.Helper()
	vector, err := rules.EngineQueryFunc(m.engine, m.storage)(m.t.Context(), expression, time.Now())
	require.NoError(m.t, err, expression)
	return len(vector)
}

// staysQuiet checks that no alert fires for the longest delay of an alert.
func (m *monitor) staysQuiet() {
	m.t.Helper()
	for end := time.Now().Add(6 * time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		require.Empty(m.t, m.firing())
	}
}

// While a running controller has no problems, no alert fires. Each problem fires its alert and no other.
func TestPrometheusAlertsFire(t *testing.T) {
	h := newHelm(t)
	p := h.run(h.install(""), "")
	namespace := h.cluster.Namespace(t)
	installed.Applier(t, h.cluster, namespace, "holdfast-applier")
	in := "--namespace=" + namespace
	submit := func(name, manifest string) {
		t.Helper()
		h.kubectl(fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %s}, spec: {manifest: [%s]}}`, name, manifest), "create", "--filename=-", in)
	}
	h.hold(namespace, "app")
	h.awaitReady(namespace, "app")
	h.isHeld(namespace, "app")
	p.CallBack()

	m := watch(t, p.Metrics)
	awaitFiring := func(expected ...string) {
		t.Helper()
		var last []string
		require.Eventually(t, func() bool { last = m.firing(); return slices.Equal(last, expected) }, 2*time.Minute, 50*time.Millisecond,
			"%v is to fire", expected, &last)
	}
	h.eventually("a ready Application in Prometheus", func() bool { return m.series(`rate(holdfast_applications{ready="True"}[1m]) >= 0`) > 0 })
	m.staysQuiet()

	t.Run("every series that an alert asks for is there", func(t *testing.T) {
		for name, rule := range alerts(t) {
			parsed, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
			require.NoError(t, err)
			for _, selectors := range parser.ExtractSelectors(parsed) {
				var matchers []string
				for _, matcher := range selectors {
					matchers = append(matchers, matcher.String())
				}
				assert.Positive(t, m.series("{"+strings.Join(matchers, ",")+"}"), "%s: %v", name, matchers)
			}
		}
	})
	t.Run("every panel of the dashboard has something to show", func(t *testing.T) {
		text, err := os.ReadFile(deployed + "/monitoring/dashboard.json")
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d))
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				assert.Positive(t, m.series(strings.NewReplacer("$__rate_interval", "1m", "$job", "holdfast").Replace(target.Expr)), "%s: %s", panel.Title, target.Expr)
			}
		}
	})

	submit("wrong", `{apiVersion: v1, kind: ConfigMap, metadata: {}}`)
	awaitFiring("HoldfastStalled")
	assert.Contains(t, m.says("HoldfastStalled"), "1 Applications are stalled")
	h.kubectl("", "delete", "hfapp/wrong", in)
	awaitFiring()

	// There are no nodes, so its Pods cannot run.
	submit("slow", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: slow}, spec: {selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: slow, image: slow}]}}}}`)
	awaitFiring("HoldfastNotConverging")
	h.kubectl("", "delete", "hfapp/slow", in)
	awaitFiring()

	for i := 0; h.kubectl("", "get", "hfapp/app", "--output=jsonpath={.status.contested}", in) == ""; i++ {
		require.Less(t, i, 100, "a contest without an alert")
		h.kubectl("", "patch", "configmap/app", "--patch", fmt.Sprintf(`{"data": {"key": "theirs-%d"}}`, i), in)
		h.eventually("an answer", func() bool {
			return h.kubectl("", "get", "configmap/app", "--output=jsonpath={.data.key}", in) == "ours" ||
				h.kubectl("", "get", "hfapp/app", "--output=jsonpath={.status.contested}", in) != ""
		})
	}
	h.eventually("the alert", func() bool { return slices.Contains(m.firing(), "HoldfastContested") })
	assert.Contains(t, m.says("HoldfastContested"), "1 held fields are changed again and again")
	h.kubectl("", "delete", "hfapp/app", in)
	awaitFiring()

	// A policy that rejects status updates.
	submit("probe", "")
	h.kubectl(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-status}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [holdfast.dev], apiVersions: ["*"], operations: [UPDATE], resources: [applications/status]}]}
  validations: [{expression: "false"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-status}
spec: {policyName: no-status, validationActions: [Deny]}`, "create", "--filename=-")
	h.eventually("the policy", func() bool {
		_, err := h.cluster.Kubectl(t.Context(), "", "patch", "hfapp/probe", "--subresource=status", "--type=merge", `--patch={"status": {"summary": "x"}}`, "--dry-run=server", in)
		return err != nil
	})
	var many strings.Builder // the errors must outnumber the earlier successes
	for i := range 50 {
		fmt.Fprintf(&many, "{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: mute-%d}, spec: {manifest: []}}\n---\n", i)
	}
	h.kubectl(many.String(), "create", "--filename=-", in)
	h.eventually("the alert", func() bool { return slices.Contains(m.firing(), "HoldfastErrors") })
	assert.Regexp(t, `^\d+(\.\d+)?% of the reconciles end in an error`, m.says("HoldfastErrors"))
	h.kubectl("", "delete", "validatingadmissionpolicybinding/no-status")

	p.Stop()
	h.eventually("the alert", func() bool { return slices.Contains(m.firing(), "HoldfastNotLeading") })
}
