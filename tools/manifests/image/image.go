package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"

	"holdfast.dev/holdfast/tools/manifests/internal/legal"
	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

const (
	// program is the path and the name of the program in the image.
	program = "holdfast-controller"
	// authorities is the path where Go programs, and most others, look for certificate authorities.
	authorities = "etc/ssl/certs/ca-certificates.crt"
	// license and notices are the texts that licenses require.
	license, notices = "licenses/LICENSE", "licenses/THIRD-PARTY-NOTICES"
	// user is an unprivileged user ID. The Deployment uses the same one.
	user = "65532:65532"
)

// architectures are the architectures of the image.
var architectures = []string{"amd64", "arm64"}

// build builds the image for all architectures.
func (f flags) build(ctx context.Context) (v1.ImageIndex, error) {
	trusted, err := layer(file{authorities, 0o644, certificates()})
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		binary, err := f.compile(ctx, architecture)
		if err != nil {
			return nil, err
		}
		executable, err := layer(file{program, 0o755, binary})
		if err != nil {
			return nil, err
		}
		texts, err := legal.Collect(ctx, f.source, product.Program{Name: program, OS: "linux", Architecture: architecture})
		if err != nil {
			return nil, err
		}
		licenses, err := layer(file{license, 0o644, texts.License}, file{notices, 0o644, texts.Notices})
		if err != nil {
			return nil, err
		}
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		image, err := f.assemble(platform, trusted, licenses, executable)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, f.labels()).(v1.ImageIndex), nil
}

// assemble returns the image for one platform. It contains no times, so that builds are reproducible.
func (f flags) assemble(platform v1.Platform, layers ...v1.Layer) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: f.labels(),
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8443/tcp": {}},
	}
	return mutate.ConfigFile(image, config)
}

// labels returns the labels of the image, and the annotations of its index.
func (f flags) labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":       program,
		"org.opencontainers.image.description": "The controller of Holdfast",
		"org.opencontainers.image.version":     f.version,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	if f.revision != "" {
		labels["org.opencontainers.image.revision"] = f.revision
	}
	return labels
}

// compile returns the program for an architecture.
func (f flags) compile(ctx context.Context, architecture string) ([]byte, error) {
	directory, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	path := filepath.Join(directory, program)
	built := product.Program{Name: program, OS: "linux", Architecture: architecture}
	if err := (product.Build{Source: f.source, Version: f.version, Image: f.name}).Write(ctx, built, path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// certificates returns the authorities that Mozilla trusts unconditionally, because a certificate file
// cannot express constraints.
func certificates() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return text.Bytes()
}

// file is a file of a layer.
type file struct {
	path    string
	mode    int64
	content []byte
}

// layer returns a layer with files and the parent directories of the first one, owned by root and without times.
func layer(files ...file) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, directory := range above(files[0].path) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: directory + "/", Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		if err := writeFile(w, f); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// above returns the parent directories of a relative path, outermost first.
func above(path string) (directories []string) {
	for i, c := range path {
		if c == '/' {
			directories = append(directories, path[:i])
		}
	}
	return directories
}

func writeFile(w *tar.Writer, f file) error {
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content))}); err != nil {
		return err
	}
	_, err := w.Write(f.content)
	return err
}
