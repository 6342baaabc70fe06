package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/cli/files"
)

func TestReplaceKeepsLinkAndPermissions(t *testing.T) {
	directory := t.TempDir()
	path, link := filepath.Join(directory, "app.yaml"), filepath.Join(directory, "link.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a long old content"), 0o640))
	require.NoError(t, os.Symlink("app.yaml", link))
	require.NoError(t, files.Replace(link, []byte("new")))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(content))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.Equal(t, os.ModeSymlink, info.Mode().Type())
	info, err = os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
}

// An error leaves the old content, and no other file.
func TestReplaceFails(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "app.yaml")
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	require.Error(t, files.Replace(path, []byte("new")), "a directory that is not empty")
	require.Error(t, files.Replace(filepath.Join(directory, "missing.yaml"), []byte("new")))
	left, err := os.ReadDir(directory)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}
