package files

import (
	"os"
	"path/filepath"
)

// Replace replaces the content of an existing file, and keeps its permissions. It writes a new file next to it and
// renames that, so an error or a crash never leaves a part of the content. If path is a symbolic link, Replace
// replaces the file that it refers to. The new file belongs to the user who runs the program. Hard links to the old
// file keep the old content.
func Replace(path string, content []byte) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".holdfast-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // it no longer exists after the rename
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(info.Mode().Perm())
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
