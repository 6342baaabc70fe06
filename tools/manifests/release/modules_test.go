package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/internal/samples"
)

// useEmptyModuleCache gives the test the module cache of a new machine. The full one serves the modules, so the test
// downloads none.
func useEmptyModuleCache(t *testing.T) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE", "GOPROXY").Output()
	require.NoError(t, err)
	full, proxies, _ := strings.Cut(strings.TrimSpace(string(output)), "\n")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(full)+"/cache/download,"+proxies)
	t.Setenv("GOFLAGS", "-trimpath -modcacherw") // a writable cache can be removed
}

// A full module cache hides a step that cannot download its modules. So only one file forbids downloads:
// TestBillIsReproducible runs it with an empty cache.
func TestNoTargetForbidsDownloads(t *testing.T) {
	command := exec.CommandContext(t.Context(), "git", "grep", "--name-only", "-E", "GOPROXY|-mod=(readonly|vendor)", "--", "Makefile", ".ci", ".github", "*.go", "deploy/local/versions", ":!*_test.go")
	command.Dir = checkout
	files, err := command.Output()
	require.NoError(t, err)
	assert.Equal(t, "tools/manifests/internal/bill/bill.go\n", string(files))
}

func TestImageWithEmptyModuleCache(t *testing.T) {
	if samples.Of(true, false) {
		t.Skip("the modules of the controller are only unpacked in `make test-long`: it takes a minute of processor time")
	}
	useEmptyModuleCache(t)
	to := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(to, "bin"), 0o700))
	command := exec.CommandContext(t.Context(), "make", "image", "CURDIR="+to)
	command.Dir = checkout
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.FileExists(t, filepath.Join(to, "bin", "holdfast-controller.cdx.json"))
	assert.FileExists(t, filepath.Join(to, "bin", "holdfast-controller.tar"))
}
