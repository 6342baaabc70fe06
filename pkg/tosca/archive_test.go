package tosca_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// packed is a file of an archive that a test makes.
type packed struct{ name, content string }

func zipOf(t testing.TB, files ...packed) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for _, file := range files {
		entry, err := writer.Create(file.name)
		require.NoError(t, err)
		_, err = entry.Write([]byte(file.content))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	return archive.Bytes()
}

// filesIn are the files below a directory.
func filesIn(t *testing.T, dir string) (files []packed) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files = append(files, packed{filepath.ToSlash(name), string(content)})
		return err
	}))
	return files
}
