package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// program is the path and the name of the program in the image.
	program = "holdfast-controller"
	// authorities is the path where Go programs, and most others, look for certificate authorities.
	authorities = "etc/ssl/certs/ca-certificates.crt"
	// user is an unprivileged user ID. The Deployment uses the same one.
	user = "65532:65532"
)

// architectures are the architectures of the image.
var architectures = []string{"amd64", "arm64"}

// build builds the image for all architectures from the sources of a checkout.
func build(ctx context.Context, source, version string) (v1.ImageIndex, error) {
	trusted, err := layer(file{authorities, 0o644, certificates()})
	if err != nil {
		return nil, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range architectures {
		binary, err := compile(ctx, source, version, architecture)
		if err != nil {
			return nil, fmt.Errorf("building for %s: %w", architecture, err)
		}
		executable, err := layer(file{program, 0o755, binary})
		if err != nil {
			return nil, err
		}
		platform := v1.Platform{OS: "linux", Architecture: architecture}
		image, err := assemble(platform, version, trusted, executable)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, annotations(version)).(v1.ImageIndex), nil
}

// assemble returns the image for one platform. It contains no times, so that builds are reproducible.
func assemble(platform v1.Platform, version string, layers ...v1.Layer) (v1.Image, error) {
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
		User: user, Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: annotations(version),
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8443/tcp": {}},
	}
	return mutate.ConfigFile(image, config)
}

func annotations(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    program,
		"org.opencontainers.image.version":  version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}

// compile builds the program for an architecture, independently of this machine.
func compile(ctx context.Context, source, version, architecture string) ([]byte, error) {
	directory, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	path := filepath.Join(directory, program)
	cmd := exec.CommandContext(ctx, "go", "-C", source, "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -buildid= -X holdfast.dev/holdfast/internal/version.number="+version, "-o", path, "./cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=linux", "GOARCH="+architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, output)
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

// layer returns a layer with a file and its parent directories, owned by root and without times.
func layer(f file) (v1.Layer, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, directory := range above(f.path) {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: directory + "/", Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	if err := writeFile(w, f); err != nil {
		return nil, err
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
