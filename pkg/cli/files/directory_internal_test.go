package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// git-sync, for example, publishes a checkout as a symbolic link.
func TestALinkedDirectoryIsRead(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(directory, "checkout", "below"), 0o700))
	for _, name := range []string{"a.yaml", filepath.Join("below", "b.yaml")} {
		require.NoError(t, os.WriteFile(filepath.Join(directory, "checkout", name), []byte("{kind: Test}\n"), 0o600))
	}
	link := filepath.Join(directory, "link")
	require.NoError(t, os.Symlink("checkout", link))
	for recursive, want := range map[bool][]string{false: {"a.yaml"}, true: {"a.yaml", filepath.Join("below", "b.yaml")}} {
		documents, err := Input{Recursive: recursive}.Read(t.Context(), []string{link})
		require.NoError(t, err)
		var names []string
		for _, document := range documents {
			name, err := filepath.Rel(link, document.File)
			require.NoError(t, err)
			names = append(names, name)
		}
		assert.Equal(t, want, names)
	}
}
