package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/facts"
)

// reads matches the commands whose output changes until the controller has processed an earlier command.
var reads = regexp.MustCompile(`^(kubectl (get|describe|wait)|holdfast (get|status|explain|history|diff)) `)

// fileName is the first line of a block that is a file of the reader.
var fileName = regexp.MustCompile(`^# ([a-z-]+\.yaml)\n`)

// otherTests are the programs that the playground does not run, with the reason.
var otherTests = map[string]string{
	"bin/holdfast": "needs no cluster; package docs runs it",
	"helm":         "needs Helm and an image; TestChartMatchesManifests compares the chart with deploy",
}

// theirs creates the objects that docs/share.md shares, in a new namespace shop, and grants its Applications the permissions.
const theirs = `kubectl delete namespace shop --ignore-not-found && kubectl create namespace shop && kubectl create namespace platform &&
kubectl create deployment web -n shop --image=web:1 --replicas=3 && kubectl create service clusterip made-by-a-chart -n shop --tcp=80 &&
echo '{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: aws-node, namespace: kube-system}, spec: {selector: {matchLabels: {app: cni}},
  template: {metadata: {labels: {app: cni}}, spec: {containers: [{name: aws-node, image: "cni:1", env: [{name: WARM_IP_TARGET, value: "5"}]}]}}}}' |
kubectl create -f - && for name in shop holdfast-applier; do kubectl create serviceaccount $name -n shop &&
kubectl create rolebinding $name -n shop --clusterrole=edit --serviceaccount=shop:$name || exit 1; done`

// TestPagesOnPlayground creates the objects that a page is about, types its commands into the playground, and compares
// their output with the page. The pages share the playground and use different objects.
func TestPagesOnPlayground(t *testing.T) {
	c := elsewhere(t)
	terminal := &terminal{out: new(bytes.Buffer)}
	t.Cleanup(func() { assert.NoError(t, down(context.WithoutCancel(t.Context()), c, terminal)) })
	require.NoError(t, up(t.Context(), c, terminal))
	cluster, err := c.connect(c.playground())
	require.NoError(t, err)
	const own = "kubectl apply --server-side -f examples/own.yaml && kubectl wait hfapp/own --for=condition=Ready --timeout=60s"
	for _, page := range []struct{ name, given string }{
		{"tutorial", ""},
		{"observe", "kubectl create namespace team && kubectl create serviceaccount web -n team && kubectl create deployment web -n team --image=web:1"},
		{"from-live", "kubectl create deployment shop --image=registry.k8s.io/echoserver:1.4 && kubectl rollout status deployment/shop"},
		{"history", own},
		{"profiles", own},
		{"mysql", "cp examples/mysql.yaml ."},
		{"share", theirs}, // last, because it holds a label of all namespaces
	} {
		t.Run(page.name, func(t *testing.T) {
			output, err := cluster.shell(t.Context(), page.given)
			require.NoError(t, err, output)
			follow(t, cluster, page.name)
		})
	}
	t.Run("hooks", func(t *testing.T) { callHooks(t, cluster) })
}

// follow writes the files and types the commands of a page.
func follow(t *testing.T, c *cluster, page string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
	require.NoError(t, err)
	for _, block := range facts.Blocks(string(raw), "yaml") {
		if name := fileName.FindStringSubmatch(block); name != nil {
			require.NoError(t, os.WriteFile(filepath.Join(c.root, name[1]), []byte(block), 0o600))
		}
	}
	examples := facts.Examples(string(raw))
	require.NotEmpty(t, examples)
	for _, example := range examples {
		if program, _, _ := strings.Cut(example.Command, " "); otherTests[program] != "" {
			continue
		}
		if !reads.MatchString(example.Command) {
			awaitReconciled(t, c)
			typed(t, t, c, example)
			continue
		}
		require.EventuallyWithT(t, func(collect *assert.CollectT) { typed(t, collect, c, example) }, time.Minute, 200*time.Millisecond, example.Command)
	}
}

// awaitReconciled waits until the controller has reconciled the current spec of each Application, as the time in which
// a reader types the next command does.
func awaitReconciled(t *testing.T, c *cluster) {
	t.Helper()
	const generations = "kubectl get hfapp -A -o jsonpath='{range .items[*]}{.metadata.generation}={.status.observedGeneration} {end}'"
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		output, err := c.shell(t.Context(), generations)
		assert.NoError(collect, err)
		for _, application := range strings.Fields(output) {
			generation, observed, _ := strings.Cut(application, "=")
			assert.Equal(collect, generation, observed)
		}
	}, time.Minute, 200*time.Millisecond)
}

// typed runs a command. It must succeed, or print the error that the page shows.
func typed(t *testing.T, result assert.TestingT, c *cluster, example facts.Example) {
	t.Helper()
	output, err := c.shell(t.Context(), example.Command)
	if example.Output == "" {
		assert.NoError(result, err, "%s\n%s", example.Command, output)
		return
	}
	facts.AssertShows(result, facts.WithoutAges(example.Output), facts.WithoutAges(output+"\n"))
}
