package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/samples"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/tools/manifests/internal/bill"
	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

const checkout = "../../.."

// begun returns a release of this checkout with an empty directory.
func begun(t *testing.T) release {
	t.Helper()
	return release{
		source: checkout, to: t.TempDir(), version: "v1.2.3-rc.1", commit: "c0ffee",
		repository: "registry.example.com/controller", downloads: "https://example.com/v1.2.3-rc.1",
	}
}

// packed returns what an archive contains: modes and texts by path.
func packed(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	if filepath.Ext(path) == ".zip" {
		archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		require.NoError(t, err)
		for _, entry := range archive.File {
			reader, err := entry.Open()
			require.NoError(t, err)
			content, err := io.ReadAll(reader)
			require.NoError(t, err)
			assert.Less(t, entry.Modified.Year(), 1980, "it has a time")
			found[entry.Name] = entry.Mode().String() + " " + string(content)
		}
		return found
	}
	compressed, err := gzip.NewReader(bytes.NewReader(text))
	require.NoError(t, err)
	for files := tar.NewReader(compressed); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		require.NoError(t, err)
		content, err := io.ReadAll(files)
		require.NoError(t, err)
		assert.Zero(t, header.ModTime.Unix())
		found[header.Name] = header.FileInfo().Mode().String() + " " + string(content)
	}
}

func TestArchivesAreReproducible(t *testing.T) {
	files := []file{{"holdfast", 0o755, []byte("program")}, {"completions/_holdfast", 0o644, []byte("script")}}
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		first, second := filepath.Join(t.TempDir(), name), filepath.Join(t.TempDir(), name)
		require.NoError(t, write(first, files))
		require.NoError(t, write(second, files))
		one, err := os.ReadFile(first)
		require.NoError(t, err)
		other, err := os.ReadFile(second)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(one, other), name)
		assert.Equal(t, map[string]string{"holdfast": "-rwxr-xr-x program", "completions/_holdfast": "-rw-r--r-- script"}, packed(t, first))
	}
}

func TestProgramsOfARelease(t *testing.T) {
	var names []string
	for _, p := range product.Programs() {
		names = append(names, archiveOf(p, "v1.2.3"))
	}
	assert.ElementsMatch(t, []string{
		"holdfast_v1.2.3_linux_amd64.tar.gz", "holdfast_v1.2.3_linux_arm64.tar.gz", "holdfast_v1.2.3_darwin_amd64.tar.gz",
		"holdfast_v1.2.3_darwin_arm64.tar.gz", "holdfast_v1.2.3_windows_amd64.zip", "holdfast_v1.2.3_windows_arm64.zip",
		"holdfast-controller_v1.2.3_linux_amd64.tar.gz", "holdfast-controller_v1.2.3_linux_arm64.tar.gz",
	}, names)
}

// The program of a small module, built in two directories.
func TestBillIsReproducible(t *testing.T) {
	useEmptyModuleCache(t)
	bills := make([]string, samples.Of(1, 2))
	for i := range bills {
		source := t.TempDir()
		write := func(name, text string) {
			path := filepath.Join(source, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		write("go.mod", "module holdfast.dev/holdfast\n\ngo 1.26.0\n")
		write("cmd/small/main.go", "package main\n\nimport \"holdfast.dev/holdfast/internal/version\"\n\nfunc main() { println(version.String()) }\n")
		write("internal/version/version.go", "package version\n\nvar number = \"\"\n\nfunc String() string { return number }\n")
		binary, to := filepath.Join(source, "small"), filepath.Join(source, "small.cdx.json")
		here := product.Program{Name: "small", OS: "linux", Architecture: "amd64"}
		require.NoError(t, product.Build{Source: source, Version: "v1.2.3", Image: "image:1"}.Write(t.Context(), here, binary))
		content, err := os.ReadFile(binary)
		require.NoError(t, err)
		assert.Contains(t, string(content), "v1.2.3")
		assert.NotContains(t, string(content), source)
		made, err := bill.Of(t.Context(), binary, "v1.2.3")
		require.NoError(t, err)
		require.NoError(t, bill.Write(to, made))
		text, err := os.ReadFile(to)
		require.NoError(t, err)
		bills[i] = string(text)
	}
	for _, again := range bills[1:] { // a second build is only part of `make test-long`
		assert.Equal(t, bills[0], again)
	}
	assert.Contains(t, bills[0], `"Apache-2.0"`)
	assert.NotContains(t, bills[0], "serialNumber")
	assert.NotContains(t, bills[0], "timestamp")
}

func TestBillOfImageNamesItsParts(t *testing.T) {
	components, dependencies := []cdx.Component{{Name: "a module"}}, []cdx.Dependency{{Ref: "program", Dependencies: &[]string{"a module"}}}
	made := &cdx.BOM{
		Metadata:   &cdx.Metadata{Component: &cdx.Component{BOMRef: "program", Name: "program"}},
		Components: &components, Dependencies: &dependencies,
	}
	describeImage(made, "registry.example.com/controller:v1", "v1", "abc", "v0.1.0")
	assert.Equal(t, cdx.ComponentTypeContainer, made.Metadata.Component.Type)
	assert.Equal(t, "registry.example.com/controller:v1", made.Metadata.Component.Name)
	var names []string
	for _, component := range *made.Components {
		names = append(names, component.Name)
	}
	assert.Equal(t, []string{"a module", "program", authorities}, names)
	assert.Len(t, *made.Dependencies, 2)
}

func TestChartHasTheImageOfTheRelease(t *testing.T) {
	r := begun(t)
	require.NoError(t, r.chart(t.Context()))
	found, err := loader.Load(r.path("holdfast-1.2.3-rc.1.tgz"))
	require.NoError(t, err)
	assert.Equal(t, "1.2.3-rc.1", found.Metadata.Version)
	values, err := chartutil.ToRenderValues(found, nil, chartutil.ReleaseOptions{Name: "holdfast", Namespace: "holdfast-system"}, nil)
	require.NoError(t, err)
	rendered, err := engine.Render(found, values)
	require.NoError(t, err)
	assert.Contains(t, rendered["holdfast/templates/deployment.yaml"], "image: registry.example.com/controller:v1.2.3-rc.1\n")

	for name, text := range map[string]string{"Chart.yaml": "name: a\n", "values.yaml": "image: {}\n"} {
		_, err := r.edited(name, []byte(text))
		require.ErrorContains(t, err, "and not one", name)
	}
}

// All ways to install use the same image.
func TestImageHasOneName(t *testing.T) {
	found, err := loader.Load(filepath.Join(checkout, "deploy", "helm", "holdfast"))
	require.NoError(t, err)
	image, _ := found.Values["image"].(map[string]any)
	assert.Equal(t, deploy.Image(), image["repository"].(string)+":"+found.AppVersion())
	assert.Contains(t, string(deploy.Install()), "image: "+deploy.Image()+"\n")
}

func TestInstallFileHasTheImageOfTheRelease(t *testing.T) {
	r := begun(t)
	require.NoError(t, r.manifests(t.Context()))
	text, err := os.ReadFile(r.path("install.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "\n        image: registry.example.com/controller:v1.2.3-rc.1\n")
	assert.NotContains(t, string(text), deploy.Image()+"\n")
	assert.NotContains(t, string(text), "No public registry")
	r.repository = repository
	require.NoError(t, r.manifests(t.Context()))
	text, err = os.ReadFile(r.path("install.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "No public registry")
}

func TestReleaseNotesAreTheSectionOfTheChangelog(t *testing.T) {
	const changelog = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-01\n\n### Added\n\n- Two.\n\n## [0.1.0]\n\n- One.\n\n[0.1.0]: https://example.com\n"
	text, err := section(changelog, "0.2.0")
	require.NoError(t, err)
	assert.Equal(t, "# Holdfast 0.2.0\n\n### Added\n\n- Two.\n", text)
	text, err = section(changelog, "0.1.0")
	require.NoError(t, err)
	assert.Equal(t, "# Holdfast 0.1.0\n\n- One.\n", text)
	_, err = section(changelog, "0.3.0")
	require.ErrorContains(t, err, `has no section "## [0.3.0]"`)
	_, err = section(changelog, "Unreleased")
	require.ErrorContains(t, err, "is empty")
}

func TestPackageManagersGetAddressAndDigest(t *testing.T) {
	r := begun(t)
	digests := map[string]string{}
	for _, p := range product.Programs() {
		name := archiveOf(p, r.version)
		require.NoError(t, os.WriteFile(r.path(name), []byte(name), 0o600))
		digest, err := digestOf(r.path(name))
		require.NoError(t, err)
		digests[r.downloads+"/"+name] = digest
	}
	require.NoError(t, r.plugin(t.Context()))
	require.NoError(t, r.formula(t.Context()))

	text, err := os.ReadFile(r.path("krew-holdfast.yaml"))
	require.NoError(t, err)
	var found struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version, ShortDescription string
			Platforms                 []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
				Files            []map[string]string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &found))
	assert.Equal(t, "holdfast", found.Metadata.Name)
	assert.Equal(t, r.version, found.Spec.Version)
	require.Len(t, found.Spec.Platforms, 6)
	for _, platform := range found.Spec.Platforms {
		labels := platform.Selector.MatchLabels
		assert.Contains(t, platform.URI, "holdfast_"+r.version+"_"+labels["os"]+"_"+labels["arch"]+".")
		assert.Equal(t, digests[platform.URI], platform.SHA256)
		assert.Equal(t, labels["os"] == "windows", platform.Bin == "holdfast.exe")
		assert.Equal(t, platform.Bin, platform.Files[0]["from"])
	}

	text, err = os.ReadFile(r.path("holdfast.rb"))
	require.NoError(t, err)
	assert.Equal(t, 4, strings.Count(string(text), "    sha256 "))
	for address, digest := range digests {
		if strings.Contains(address, "/holdfast_") && !strings.Contains(address, "windows") {
			assert.Contains(t, string(text), "    url \""+address+"\"\n    sha256 \""+digest+"\"\n")
		}
	}
}

func TestSumsAndProvenanceNameAllFiles(t *testing.T) {
	r := begun(t)
	require.NoError(t, os.WriteFile(r.path("holdfast.tar.gz"), []byte("archive"), 0o600))
	require.NoError(t, r.provenance(t.Context()))
	require.NoError(t, r.sums(t.Context()))
	text, err := os.ReadFile(r.path(provenanceFile))
	require.NoError(t, err)
	var made statement
	require.NoError(t, json.Unmarshal(text, &made))
	digest, err := digestOf(r.path("holdfast.tar.gz"))
	require.NoError(t, err)
	assert.Equal(t, []subject{{"holdfast.tar.gz", map[string]string{"sha256": digest}}}, made.Subject)
	assert.Equal(t, "c0ffee", made.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"])

	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", sumsFile)
	check.Dir = r.to
	output, err := check.CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.Equal(t, "holdfast.tar.gz: OK\nprovenance.intoto.json: OK\n", string(output))
}

func TestReleaseIsRefused(t *testing.T) {
	repository := t.TempDir()
	git := func(args ...string) {
		output, err := exec.CommandContext(t.Context(), "git", append([]string{
			"-C", repository, "-c", "user.name=Test", "-c", "user.email=test@example.com",
		}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", output)
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "--message=First")
	r := release{source: repository, to: filepath.Join(t.TempDir(), "dist"), version: "v1.2.3"}
	require.NoError(t, r.begin(t.Context()))
	assert.Len(t, r.commit, 40)

	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3-dirty+x", "v01.2.3", "v1.2.3\n"} {
		r.version = version
		require.ErrorContains(t, r.run(context.Background()), "is not a version", version)
	}
	require.NoError(t, os.WriteFile(r.path("old"), nil, 0o600))
	require.ErrorContains(t, r.begin(t.Context()), "is not empty")
	require.NoError(t, os.WriteFile(filepath.Join(repository, "new.go"), nil, 0o600))
	require.ErrorContains(t, r.begin(t.Context()), "new.go")
}
