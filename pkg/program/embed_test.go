package program

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/cli"
)

// A program with a hook of its own holds the fields that the hook adds. The command line, which does not have the hook,
// does not show them as drift.
func TestEmbeddedHook(t *testing.T) {
	t.Parallel()
	embed := filepath.Join(t.TempDir(), "embed")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-o", embed, "../../examples/embed").CombinedOutput()
	require.NoError(t, err, "%s", output)
	c, namespace := ours(t)
	run(t, c, embed, "--leader-elect=false", "--watch-namespaces="+namespace).Says(leads)
	submit(t, c, namespace, "web", "team: blue")
	awaitReady(t, c, namespace, "web")
	label := func() string { return get(t, c, namespace, configMaps, "web", "{.metadata.labels.team}") }
	assert.Equal(t, "blue", label())
	patch(t, c, namespace, configMaps, "web", "mallory", `{"metadata": {"labels": {"team": "red"}}}`)
	eventually(t, "the correction of the label", func() bool { return label() == "blue" })

	text := holdfast(t, c, namespace, 0, "diff", "web")
	assert.Contains(t, text, "1 unchanged")
	assert.NotContains(t, text, "team")
	assert.NotContains(t, holdfast(t, c, namespace, 0, "status", "web"), "no longer desired")
	text = holdfast(t, c, namespace, 0, "explain", "web", "configmap/web", "metadata.labels.team")
	assert.Contains(t, text, "= held")
	assert.NotContains(t, text, "~")

	file := kubectl(t, c, "", "get", "hfapp", "web", "-n", namespace, "-o", "yaml")
	text = holdfast(t, c, namespace, 1, "diff", "--cluster", "-f", "-", strings.Replace(file, "key: ours", "key: mine", 1))
	assert.Contains(t, strings.Join(strings.Fields(text), " "), "hooks of the controller (team) can change the manifests of "+namespace+"/web")
	assert.Contains(t, text, "data.key: ours → mine")
	assert.NotContains(t, text, "metadata.labels.team")
}

// holdfast runs the command line. If an argument is -, the last one is standard input.
func holdfast(t *testing.T, c *testcluster.Cluster, namespace string, status int, args ...string) string {
	t.Helper()
	stdin := ""
	if args[len(args)-2] == "-" {
		args, stdin = args[:len(args)-1], args[len(args)-1]
	}
	var out bytes.Buffer
	args = append([]string{"holdfast", "--kubeconfig=" + c.Kubeconfig(), "-n", namespace}, args...)
	require.Equal(t, status, cli.Main(t.Context(), args, cli.Streams{
		In: strings.NewReader(stdin), Out: &out, Err: &out, Getenv: func(string) string { return "" }, Now: time.Now,
	}), "%s", &out)
	return out.String()
}
