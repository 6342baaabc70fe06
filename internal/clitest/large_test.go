package clitest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bundle returns a file of n incompressible ConfigMaps and a Secret.
func bundle(t *testing.T, n int) string {
	t.Helper()
	source := rand.NewChaCha8([32]byte{1})
	var text strings.Builder
	text.WriteString("{apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {key: hunter2}}\n")
	for i := range n {
		noise := make([]byte, 5000)
		_, _ = source.Read(noise)
		fmt.Fprintf(&text, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: config-%d}, data: {key: held, noise: %q}}\n", i, hex.EncodeToString(noise))
	}
	file := filepath.Join(t.TempDir(), "bundle.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

// TestLargeApplicationLooksLikeOne checks that every command shows a split Application as one, and that its
// output for Git can be applied with other tools.
func TestLargeApplicationLooksLikeOne(t *testing.T) {
	dir := t.TempDir()
	env := &testscript.Env{WorkDir: dir}
	require.NoError(t, setEnv(env, ""))
	for _, name := range []string{"KUBECONFIG", "NS", "HOME"} {
		t.Setenv(name, env.Getenv(name))
	}
	c, err := held()
	require.NoError(t, err)
	s := setUp{t, c}
	in := "--namespace=" + env.Getenv("NS")
	ok := func(args ...string) string {
		t.Helper()
		status, stdout, stderr := s.holdfast(args...)
		require.Equal(t, 0, status, "%s\n%.2000s\n%.2000s", args, stdout, stderr)
		return stdout
	}
	const configMaps = 110 // slightly more than fit into one object
	objects := strconv.Itoa(configMaps + 1)
	file := bundle(t, configMaps)
	assert.Regexp(t, "application.holdfast.dev/shop created\n", ok("submit", "shop", "-f", file, "--wait"))
	require.NotEmpty(t, s.kubectl("", "get", "hfslice", in, "--output=name"))
	stored := s.kubectl("", "get", "hfapp", "shop", in, "--output=yaml")
	require.Contains(t, stored, "recordSlices:")
	require.NotContains(t, stored, "config-7\n")

	shown := ok("get", "shop", "-o", "yaml")
	assert.NotContains(t, shown, "lices:")
	assert.Equal(t, configMaps+1, strings.Count(shown, "health: Current"))
	full := ok("get", "shop", "-o", "yaml", "--full")
	assert.Contains(t, full, "\n  lastAppliedManifest:\n")
	assert.Equal(t, configMaps, strings.Count(full, "noise: observed\n"), "each entry is whole")
	assert.Contains(t, ok("get"), objects+"/"+objects)
	ok("diff", "shop")
	assert.Contains(t, ok("status", "shop"), objects)
	assert.Contains(t, ok("explain", "shop", "cm/config-7", "data.key"), "held")
	assert.Contains(t, ok("submit", "shop", "-f", file), "unchanged")
	assert.Contains(t, ok("hold", "configmap/config-7", "data.key"), "data.key is already held")
	s.kubectl("", "create", "configmap", "theirs", in, "--from-literal=key=value")
	status, _, stderr := s.holdfast("hold", "configmap/theirs", "data.key", "--application", "shop")
	assert.Equal(t, 2, status)
	assert.Contains(t, stderr, "spec.manifest of Application "+env.Getenv("NS")+"/shop is in ApplicationSlices: change your files, and submit them again\n")

	// Export for Git, and apply again.
	git := filepath.Join(dir, "git.yaml")
	require.NoError(t, os.WriteFile(git, []byte(ok("submit", "shop", "-f", file, "--dry-run=client", "-o", "yaml", "--show-secrets", in)), 0o600))
	assert.Contains(t, ok("submit", "-f", git), "unchanged")
	ok("delete", "shop", "--yes", "--wait")
	assert.Empty(t, s.kubectl("", "get", "configmaps", in, "--field-selector=metadata.name=config-7", "--output=name"))
	s.kubectl("", "wait", in, "--for=delete", "--timeout=120s", "hfslice", "--all")

	s.kubectl("", "apply", in, "--filename="+git)
	s.kubectl("", "wait", in, "--for=condition=Ready", "--timeout=120s", "hfapp/shop")
	assert.NotEmpty(t, s.kubectl("", "get", "configmaps", in, "--field-selector=metadata.name=config-7", "--output=name"))
	s.kubectl("", "delete", in, "--timeout=120s", "--filename="+git)
	s.kubectl("", "wait", in, "--for=delete", "--timeout=120s", "hfslice", "--all") // they go after the Application
	assert.Empty(t, s.kubectl("", "get", "hfapp,hfslice", in, "--output=name"), "nothing is left")
}
