package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"holdfast.dev/holdfast/tools/manifests/internal/bill"
	"holdfast.dev/holdfast/tools/manifests/internal/legal"
	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

// file is a file of an archive.
type file struct {
	path    string
	mode    int64
	content []byte
}

// archives builds each program and writes it with its license and completions to an archive, and its bill of
// materials.
func (r release) archives(ctx context.Context) error {
	directory, err := os.MkdirTemp("", "holdfast-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	completions, err := r.completions(ctx, directory)
	if err != nil {
		return err
	}
	for _, p := range product.Programs() {
		binary := filepath.Join(directory, p.Name)
		if err := r.build().Write(ctx, p, binary); err != nil {
			return err
		}
		if err := r.bill(ctx, p, binary); err != nil {
			return err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		texts, err := legal.Collect(ctx, r.source, p)
		if err != nil {
			return err
		}
		files := []file{{executable(p), 0o755, content}, {"LICENSE", 0o644, texts.License}, {"THIRD-PARTY-NOTICES", 0o644, texts.Notices}}
		if p.Name == "holdfast" {
			files = append(files, completions...)
		}
		if err := write(r.path(archiveOf(p, r.version)), files); err != nil {
			return err
		}
	}
	return nil
}

func (r release) build() product.Build {
	return product.Build{Source: r.source, Version: r.version, Image: r.image()}
}

// bill writes the bill of materials of a program.
func (r release) bill(ctx context.Context, p product.Program, binary string) error {
	made, err := bill.Of(ctx, binary, r.version)
	if err != nil {
		return err
	}
	return bill.Write(r.path(billOf(p, r.version)), made)
}

// completions builds the command line for this machine and returns the scripts that it prints.
func (r release) completions(ctx context.Context, directory string) (scripts []file, err error) {
	const name = "holdfast"
	here := product.Program{Name: name, OS: runtime.GOOS, Architecture: runtime.GOARCH}
	path := filepath.Join(directory, executable(here))
	if err := r.build().Write(ctx, here, path); err != nil {
		return nil, err
	}
	for _, script := range []struct{ shell, file string }{{"bash", "holdfast.bash"}, {"zsh", "_holdfast"}, {"fish", "holdfast.fish"}} {
		text, err := exec.CommandContext(ctx, path, "completion", script.shell).Output()
		if err != nil {
			return nil, fmt.Errorf("printing the completion of %s: %w", script.shell, err)
		}
		scripts = append(scripts, file{"completions/" + script.file, 0o644, text})
	}
	return scripts, nil
}

// executable returns the name of a program's file.
func executable(p product.Program) string {
	if p.OS == "windows" {
		return p.Name + ".exe"
	}
	return p.Name
}

func baseOf(p product.Program, version string) string {
	return p.Name + "_" + version + "_" + p.OS + "_" + p.Architecture
}

// billOf returns the name of the bill of materials of a program.
func billOf(p product.Program, version string) string { return baseOf(p, version) + ".cdx.json" }

// archiveOf returns the name of the archive with a program.
func archiveOf(p product.Program, version string) string {
	if p.OS == "windows" {
		return baseOf(p, version) + ".zip"
	}
	return baseOf(p, version) + ".tar.gz"
}

// write writes an archive without times and owners, so that the same files give the same bytes.
func write(path string, files []file) error {
	pack := packTar
	if filepath.Ext(path) == ".zip" {
		pack = packZip
	}
	var archive bytes.Buffer
	if err := pack(&archive, files); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.WriteFile(path, archive.Bytes(), 0o644)
}

func packTar(archive *bytes.Buffer, files []file) error {
	compressed, err := gzip.NewWriterLevel(archive, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(compressed)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(archive *bytes.Buffer, files []file) error {
	w := zip.NewWriter(archive)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.path, Method: zip.Deflate}
		header.SetMode(os.FileMode(f.mode)) //nolint:gosec // constants above
		entry, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(f.content); err != nil {
			return err
		}
	}
	return w.Close()
}
