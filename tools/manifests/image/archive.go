package main

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

// writeArchive writes an image as an OCI archive: a layout with one index entry for all platforms. Engines
// that load the archive give the image the name.
func writeArchive(path string, image v1.ImageIndex, tag name.Tag) error {
	directory, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	made, err := layout.Write(directory, empty.Index)
	if err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          tag.Name(),
	})
	if err := made.AppendIndex(image, named); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	archive, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pack(archive, directory); err != nil {
		_ = archive.Close()
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return archive.Close()
}

// pack writes the files of a directory in order of their names.
func pack(archive *os.File, directory string) error {
	w := tar.NewWriter(archive)
	err := fs.WalkDir(os.DirFS(directory), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(directory, path))
		if err != nil {
			return err
		}
		return writeFile(w, file{path, 0o644, content})
	})
	if err != nil {
		return err
	}
	return w.Close()
}
