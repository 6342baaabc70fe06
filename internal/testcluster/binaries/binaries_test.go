package binaries

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestABinaryIsCurrentUntilASourceIsNewer(t *testing.T) {
	root := t.TempDir()
	p := program{name: "tool", module: "module"}
	now := time.Now()
	write := func(name string, age time.Duration) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
		require.NoError(t, os.Chtimes(path, now, now.Add(-age)))
	}
	current := func() bool {
		result, err := p.current(root)
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

func TestVersionFlagsComeFromTheModuleFile(t *testing.T) {
	root, err := Root()
	require.NoError(t, err)
	flags, err := versionFlags(filepath.Join(root, controlplane.module))
	require.NoError(t, err)
	require.Regexp(t, `gitVersion=v1\.\d+\.\d+ .*gitMajor=1 .*gitMinor=\d+$`, flags)
}
