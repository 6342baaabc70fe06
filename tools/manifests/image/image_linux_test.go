package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/installed"
)

const (
	checkout = "../../.."
	version  = "v1.2.3"
)

// archive returns the output of `make image`, which is built once and pushed to a registry, too.
var archive = sync.OnceValues(func() ([]byte, error) { return archived(checkout, reference()) })

// reference returns where archive pushes the image to: a registry that ends with this process.
var reference = sync.OnceValue(func() string {
	return strings.TrimPrefix(httptest.NewServer(registry.New()).URL, "http://") + "/holdfast-controller:" + version
})

// archived builds the image from a directory of sources, and pushes it if push is not empty.
func archived(source, push string) ([]byte, error) {
	directory, err := os.MkdirTemp("", "holdfast-image-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "image.tar")
	if err := (flags{source: source, version: version, revision: "c0ffee", name: deploy.Image(), archive: path, push: push}).run(context.Background()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// entries calls a function for each entry of a tar file.
func entries(t *testing.T, reader io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for files := tar.NewReader(reader); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		do(header, content)
	}
}

// loaded returns the images in the archive by architecture, as container engines find them.
func loaded(t *testing.T) map[string]v1.Image {
	t.Helper()
	text, err := archive()
	require.NoError(t, err)
	directory := t.TempDir()
	entries(t, bytes.NewReader(text), func(header *tar.Header, content []byte) {
		path := filepath.Join(directory, header.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, content, 0o600))
	})
	outer, err := layout.ImageIndexFromPath(directory)
	require.NoError(t, err)
	manifest, err := outer.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1, "loaders want one")
	assert.Equal(t, "holdfast.dev/holdfast-controller:devel", manifest.Manifests[0].Annotations["io.containerd.image.name"], "the name in the manifests")
	assert.Equal(t, "devel", manifest.Manifests[0].Annotations["org.opencontainers.image.ref.name"])
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	manifest, err = index.IndexManifest()
	require.NoError(t, err)
	images := map[string]v1.Image{}
	for _, descriptor := range manifest.Manifests {
		images[descriptor.Platform.Architecture], err = index.Image(descriptor.Digest)
		require.NoError(t, err)
	}
	return images
}

func TestImageContainsOnlyProgram(t *testing.T) {
	images := loaded(t)
	require.Len(t, images, 2)
	for architecture, image := range images {
		t.Run(architecture, func(t *testing.T) {
			config, err := image.ConfigFile()
			require.NoError(t, err)
			assert.Equal(t, "linux/"+architecture, config.Platform().String())
			assert.Equal(t, []string{"/holdfast-controller"}, config.Config.Entrypoint)
			assert.Equal(t, "65532:65532", config.Config.User)
			assert.Equal(t, version, config.Config.Labels["org.opencontainers.image.version"])
			assert.Equal(t, "c0ffee", config.Config.Labels["org.opencontainers.image.revision"])
			assert.True(t, config.Created.IsZero(), "the same whenever it is made")

			files := map[string]string{}
			content := map[string][]byte{}
			entries(t, mutate.Extract(image), func(header *tar.Header, text []byte) {
				files[header.Name] = header.FileInfo().Mode().String()
				content[header.Name] = text
				assert.Zero(t, header.Uid)
				assert.Zero(t, header.ModTime.Unix())
			})
			assert.Equal(t, map[string]string{
				"etc": "drwxr-xr-x", "etc/ssl": "drwxr-xr-x", "etc/ssl/certs": "drwxr-xr-x",
				"etc/ssl/certs/ca-certificates.crt": "-rw-r--r--", "holdfast-controller": "-rwxr-xr-x",
				"licenses": "drwxr-xr-x", "licenses/LICENSE": "-rw-r--r--", "licenses/THIRD-PARTY-NOTICES": "-rw-r--r--",
			}, files)
			assert.Contains(t, string(content["licenses/THIRD-PARTY-NOTICES"]), "k8s.io/client-go v0.36.3")
			assert.Contains(t, string(content["holdfast-controller"]), version)
			pool := x509.NewCertPool()
			require.True(t, pool.AppendCertsFromPEM(content["etc/ssl/certs/ca-certificates.crt"]))
			assert.Greater(t, strings.Count(string(content["etc/ssl/certs/ca-certificates.crt"]), "BEGIN CERTIFICATE"), 100)
		})
	}
}

// A build from the same sources in another directory gives the same bytes.
func TestImageBuildIsReproducible(t *testing.T) {
	if samples.Of(true, false) {
		t.Skip("a second build of both architectures is only part of `make test-long`")
	}
	source := t.TempDir()
	for _, part := range []string{"cmd/holdfast-controller", "internal", "pkg"} {
		installed.Depends(t, filepath.Join(checkout, part))
		require.NoError(t, os.CopyFS(filepath.Join(source, part), os.DirFS(filepath.Join(checkout, part))))
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(checkout, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(source, file), text, 0o600))
	}
	first, err := archive()
	require.NoError(t, err)
	second, err := archived(source, "")
	require.NoError(t, err)
	assert.True(t, bytes.Equal(first, second), "not the same bytes")
}

// The image for this machine runs with only its own files, as configured in the Deployment. It holds an
// Application and sends no forbidden request.
func TestImageRuns(t *testing.T) {
	image := loaded(t)[runtime.GOARCH]
	require.NotNil(t, image, "there is none for %s", runtime.GOARCH)
	root := t.TempDir()
	entries(t, mutate.Extract(image), func(header *tar.Header, content []byte) {
		path := filepath.Join(root, header.Name)
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.Mkdir(path, header.FileInfo().Mode().Perm()))
			return
		}
		require.NoError(t, os.WriteFile(path, content, header.FileInfo().Mode().Perm()))
	})
	config, err := image.ConfigFile()
	require.NoError(t, err)

	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	documents := string(deploy.Install())
	user := installed.Deployment(t, documents).Spec.Template.Spec.SecurityContext
	require.Equal(t, config.Config.User, fmt.Sprintf("%d:%d", *user.RunAsUser, *user.RunAsGroup), "the Deployment runs it as another user")
	installed.Apply(t, c, documents, "")
	namespace := c.Namespace(t)
	installed.Applier(t, c, namespace, "holdfast-applier")
	controller := installed.RunImage(t, c, documents, root, slices.Concat(config.Config.Entrypoint, config.Config.Cmd)...)
	controller.Life(namespace)
	controller.CallBack()
	controller.AssertNothingWasForbidden()
}

func TestImageIsPushed(t *testing.T) {
	images := loaded(t)
	to, err := name.ParseReference(reference())
	require.NoError(t, err)
	pushed, err := remote.Index(to)
	require.NoError(t, err)
	manifest, err := pushed.IndexManifest()
	require.NoError(t, err)
	for _, descriptor := range manifest.Manifests {
		image, err := images[descriptor.Platform.Architecture].Digest()
		require.NoError(t, err)
		assert.Equal(t, image, descriptor.Digest, "another image than in the archive")
	}
	require.Len(t, manifest.Manifests, 2)
	assert.ErrorContains(t, flags{push: "no:t:right"}.run(t.Context()), "-push: ")
}
