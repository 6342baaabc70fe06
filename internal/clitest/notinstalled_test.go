package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cli"
)

// In a cluster without Holdfast, every command reports that it is not installed, until `holdfast install`
// has run.
func TestCommandsWithoutHoldfast(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	t.Setenv("KUBECONFIG", c.Kubeconfig())
	clock := time.Now
	run := func(args ...string) (status int, stdout, stderr string) {
		var out, messages bytes.Buffer
		status = cli.Main(t.Context(), append([]string{"holdfast"}, args...), cli.Streams{
			In: strings.NewReader(""), Out: &out, Err: &messages, Getenv: os.Getenv, Now: clock,
		})
		return status, out.String(), messages.String()
	}
	file := filepath.Join(t.TempDir(), "application.yaml")
	require.NoError(t, os.WriteFile(file, []byte(
		"{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: web}, spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}]}}"), 0o600))
	commands := [][]string{
		{"get"}, {"get", "web"}, {"get", "-A"}, {"status", "web"}, {"explain", "web", "cm/web"}, {"diff", "web", "-o", "yaml"}, {"diff", "web"},
		{"suspend", "web"}, {"resume", "web"}, {"reconcile", "web"}, {"delete", "web", "--yes"},
		{"submit", "-f", file}, {"submit", "-f", file, "--dry-run=server"}, {"diff", "-f", file, "--cluster"},
	}
	for _, args := range commands {
		status, stdout, stderr := run(args...)
		assert.Equal(t, 2, status, args)
		assert.Empty(t, stdout, args)
		assert.Equal(t, "error: the API server does not serve Applications: is Holdfast installed? See `holdfast install --help`\n", stderr, args)
	}
	status, stdout, _ := run("version")
	assert.Equal(t, 0, status)
	assert.Contains(t, stdout, "Holdfast is not installed")

	status, stdout, _ = run("check")
	assert.Equal(t, 1, status)
	assert.Regexp(t, `(?m)^definitions +failed +applications.holdfast.dev does not exist$`, stdout)
	assert.Contains(t, stdout, "`holdfast install`")

	status, _, stderr := run("install", "--as", "nobody")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "you need the rights of an administrator to install: ")
	status, stdout, stderr = run("install")
	require.Equal(t, 0, status, stderr)
	assert.Contains(t, stdout, "CustomResourceDefinition applications.holdfast.dev applied\n")
	status, _, stderr = run("install", "--wait", "--timeout", "1s")
	assert.Equal(t, 1, status, "no controller creates Pods here")
	assert.Contains(t, stderr, "error: after 1s: the controller is not ready: its Pods are not created yet. For details, run: kubectl describe pods -n holdfast-system\n")
	status, _, stderr = run("get")
	assert.Equal(t, 0, status)
	assert.Equal(t, "There are no Applications in the namespace default.\n", stderr)
	status, _, _ = run("diff", "-f", file, "--cluster")
	assert.Equal(t, 1, status)

	_, err = c.Kubectl(t.Context(), "", "create", "serviceaccount", "holdfast-applier", "--namespace=default")
	require.NoError(t, err)
	status, _, stderr = run("submit", "-f", file, "--wait", "--timeout", "1s")
	assert.Equal(t, 1, status)
	assert.Contains(t, stderr, "error: after 1s: default/web is not ready: Waiting: "+
		"no controller has reconciled it: none runs, or none selects its namespace and labels. For details, run: holdfast status web -n default\n")
	_, stdout, _ = run("status", "web")
	assert.Contains(t, stdout, "the controller has not reconciled it yet", "it may do so at any moment")
	clock = func() time.Time { return time.Now().Add(time.Minute) }
	status, stdout, _ = run("status", "web")
	assert.Equal(t, 1, status)
	assert.Contains(t, stdout, "no controller has reconciled it: none runs, or none selects its namespace and\n  labels\n")
	assert.Contains(t, stdout, "holdfast check web\n")
	status, _, stderr = run("delete", "web", "--yes", "--wait", "--timeout", "1s")
	assert.Equal(t, 1, status, "it has the finalizer from its create on")
	assert.Contains(t, stderr, "error: after 1s: default/web is not deleted: "+
		"no controller removes its finalizer: none runs, or none selects its namespace and labels\n")
	status, stdout, _ = run("status", "web")
	assert.Equal(t, 1, status)
	assert.Contains(t, stdout, "no controller removes its finalizer: none runs, or none selects its namespace\n  and labels\n")
}
