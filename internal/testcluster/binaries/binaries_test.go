package binaries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBinaryIsCurrentUntilSourceChanges(t *testing.T) {
	root := t.TempDir()
	now := time.Now()
	write := func(name string, age time.Duration) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.Chtimes(path, now, now.Add(-age)))
	}
	current := func() bool {
		result, err := isCurrent(filepath.Join(root, "bin", "tool"), filepath.Join(root, "module"))
		require.NoError(t, err)
		return result
	}
	write("module/go.mod", 2*time.Hour)
	write("module/main.go", 2*time.Hour)
	require.False(t, current(), "no binary")

	write("bin/tool", time.Hour)
	require.True(t, current())

	write("module/main_test.go", time.Minute)
	write("module/README.md", time.Minute)
	write("module/other/go.mod", time.Minute)
	write("module/other/main.go", time.Minute)
	require.True(t, current(), "tests, documents and other modules are not part of it")

	write("module/internal/part.go", time.Minute)
	require.False(t, current())
}

func TestVersionFlagsMatchModuleFile(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(module(root), "versions", "*.mod"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, filepath.Join(module(root), "go.mod")) {
		flags, err := versionFlags(file)
		require.NoError(t, err)
		require.Regexp(t, `gitVersion=v1\.\d+\.\d+ .*gitMajor=1 .*gitMinor=\d+$`, flags)
		if minor, found := strings.CutPrefix(strings.TrimSuffix(filepath.Base(file), ".mod"), "1."); found {
			require.Regexp(t, `gitVersion=v1\.`+minor+`\.\d+ .*gitMinor=`+minor+`$`, flags)
		}
	}
}

func TestProgressReportsRemainingTime(t *testing.T) {
	for _, row := range []struct {
		compiled, total int64
		elapsed         time.Duration
		told            string
	}{
		{0, 100, time.Second, "0 %"},
		{10, 100, 20 * time.Second, "10 %, about 3 min left"},
		{90, 100, 3 * time.Minute, "90 %, less than a minute left"},
		{100, 100, 3 * time.Minute, "linking"},
		{0, 0, time.Second, "linking"},
	} {
		require.Equal(t, row.told, remaining(row.compiled, row.total, row.elapsed))
	}
}

func TestProgressCountsUncachedPackages(t *testing.T) {
	p := &progress{left: work{"fmt": 30, "k8s.io/api/core/v1": 60, "os": 10}, total: 100, started: time.Now()}
	for _, output := range []string{"fm", "t\nk8s.io/api/core/", "v1\n", "# a warning\nfmt\n"} {
		n, err := p.Write([]byte(output))
		require.NoError(t, err)
		require.Equal(t, len(output), n)
	}
	require.Equal(t, int64(90), p.compiled)
	require.Contains(t, p.String(), "90 %")
}

func TestDownloadsAreCounted(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	for _, args := range [][]string{nil, {"-modfile=versions/1.35.mod"}} {
		var log strings.Builder
		d := newDownloads(&log, module(root), args)
		require.Greater(t, d.most, 100)
		d.most = 183
		for _, output := range []string{"go: downloading a v1", ".0.0\ngo: finding b\n"} {
			_, err := d.Write([]byte(output))
			require.NoError(t, err)
		}
		require.Empty(t, log.String(), "it does not take long")
		d.said = d.said.Add(-2 * patience)
		for _, output := range []string{"go: downloading b v1.0.0\n", "go: downloading c v1.0.0\n"} {
			_, err := d.Write([]byte(output))
			require.NoError(t, err)
		}
		require.Equal(t, "downloading modules: 2 of at most 183\n", log.String())
	}
}

// The build cache shares compiled packages between the product and the control plane only if both use the
// same module versions. That is half of the control plane.
func TestModulesShareDependencies(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	product, local := dependencies(t, root, "./cmd/...", "./deploy/demo"), dependencies(t, module(root), ".")
	shared := 0
	for path, version := range product {
		if other, ok := local[path]; ok {
			shared++
			require.Equal(t, version, other, "%s: go -C deploy/local mod edit -require=%s@%s, and go mod tidy, or the like in the other go.mod", path, path, version)
		}
	}
	require.Greater(t, shared, 30)
}

// If the controller manager imported the kubelet, it would be compiled, too, including its container
// metrics: 150 packages.
func TestControlPlaneExcludesKubelet(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	local := dependencies(t, module(root), ".")
	require.NotEmpty(t, local["k8s.io/kubernetes"])
	require.Empty(t, local["github.com/google/cadvisor"], "go -C deploy/local mod why -m github.com/google/cadvisor")
}

// dependencies returns the modules of the packages and their dependencies.
func dependencies(t *testing.T, directory string, packages ...string) map[string]string {
	t.Helper()
	const each = `{{with .Module}}{{with .Replace}}{{.Path}} {{.Version}}{{else}}{{.Path}} {{.Version}}{{end}}{{end}}`
	output, err := command(t.Context(), directory, append([]string{"list", "-deps", "-f", each}, packages...)...).Output()
	require.NoError(t, err)
	found := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if path, version, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			found[path] = version
		}
	}
	return found
}
