package tosca_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
)

// packed is a file in an archive.
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

// filesIn returns the files below a directory.
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

// asked is a context that is canceled after a number of Err calls.
type asked struct {
	context.Context //nolint:containedctx // asked is a context itself

	times, limit int
}

// Err implements context.Context.
func (a *asked) Err() error {
	if a.times++; a.times > a.limit {
		return context.Canceled
	}
	return nil
}

func TestTheEndOfTheContextEndsAnArchive(t *testing.T) {
	entries := []packed{
		{"TOSCA.meta", "CSAR-Version: 2.0\nEntry-Definitions: main.yaml\n"},
		{"main.yaml", "tosca_definitions_version: tosca_2_0\nimports: [{profile: acme}]\nservice_template: {node_templates: {a: {type: holdfast.nodes.KubernetesObject, properties: {spec: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}}\n"},
	}
	for i := range 98 {
		entries = append(entries, packed{fmt.Sprintf("f%d", i), ""})
	}
	entries = append(entries, packed{"profile.yaml", "tosca_definitions_version: tosca_2_0\nprofile: acme\n"})
	archive := tosca.Source{Name: "a.csar", Data: zipOf(t, entries...)}
	whole := &asked{Context: t.Context(), limit: 1 << 20}
	_, err := tosca.Translate(whole, archive, nil, tosca.Options{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, whole.times, 200, "for the entries, and for the files in which the profile may be")
	for limit := range whole.times {
		_, err := tosca.Translate(&asked{Context: t.Context(), limit: limit}, archive, nil, tosca.Options{})
		require.ErrorIs(t, err, context.Canceled, "it is asked %d times", limit)
		require.Empty(t, tosca.Errors(err))
	}
}

func TestProfilesOfAnArchiveAreFoundByName(t *testing.T) {
	const imports = "imports:\n- {profile: 'acme.web:1.0', namespace: web}\n- {profile: 'acme.web:%s'}\n"
	entries := func(version string) []packed {
		return []packed{
			{"TOSCA.meta", "CSAR-Version: 2.0\nCreated-By: a\nEntry-Definitions: main.yaml\n"},
			{"main.yaml", "tosca_definitions_version: tosca_2_0\n" + fmt.Sprintf(imports, version) + "service_template: {node_templates: {a: {type: web:Page}, b: {type: Page}}}\n"},
			{"profiles/web.yaml", "tosca_definitions_version: tosca_2_0\nprofile: acme.web:1.0\nimports: [profile: acme.base:1.0]\nnode_types:\n  Page: {derived_from: Object, properties: {spec: {type: map, entry_schema: string, default: {apiVersion: v1, kind: Secret, metadata: {name: a}}}}}\n"},
			{"profiles/base.yaml", "tosca_definitions_version: tosca_2_0\nprofile: \"acme.base:1.0\" # it\nnode_types: {Object: {derived_from: holdfast.nodes.KubernetesObject}}\n"},
		}
	}
	result, err := tosca.Translate(t.Context(), tosca.Source{Name: "a.csar", Data: zipOf(t, entries("1.0")...)}, nil, tosca.Options{})
	require.NoError(t, err)
	assert.Len(t, result.Objects, 2)
	result, err = tosca.Translate(t.Context(), tosca.Source{Name: "a.csar", Data: zipOf(t, entries("2.0")...)}, nil, tosca.Options{})
	assert.ErrorContains(t, err, `a.csar!main.yaml:5:62: node_templates.b.type: the node type "Page" is not known`)
	require.Len(t, result.Warnings, 2)
	assert.ErrorContains(t, &result.Warnings[1], `a.csar!main.yaml:4:3: imports[1]: unknown profile "acme.web:2.0": `)
}

// A template of some KiB can refer to files of some MiB thousands of times. Reading them each
// time would allocate gigabytes.
func TestFilesOfAnArchiveAreReadOnce(t *testing.T) {
	const megabytes = 100 << 20
	large := packed{"x.txt", "description: '" + repeated(80_000, "# ") + "'\n"}
	const node = "    n#: {type: tosca.nodes.indigo.KubernetesObject, properties: {spec: {a: {get_artifact: [z, a#]}}}}\n"
	artifacts := []packed{{"main.yaml", header + "topology_template:\n  node_templates:\n" + repeated(7, node) +
		"    z:\n      type: tosca.nodes.indigo.KubernetesObject\n      artifacts: {" + repeated(10, "a#: f#, ") + "}\n" +
		"      properties: {spec: {a: [" + strings.Repeat("{get_artifact: [SELF, a7]}, {get_artifact: [SELF, a8]}, {get_artifact: [SELF, a9]}, ", 400) + "]}}\n"}}
	for i := range 10 {
		artifacts = append(artifacts, packed{fmt.Sprintf("f%d", i), large.content})
	}
	for _, row := range []struct {
		name  string
		files []packed
		want  string
	}{
		{"imports that are elsewhere", []packed{large, {"main.yaml", header + "imports: [" + repeated(2000, "d#/x.txt, ") + "]\n"}}, "there is nothing to translate"},
		{"artifacts that are too large in total", artifacts, "f9: the files are larger than 4194304 bytes in total"},
	} {
		t.Run(row.name, func(t *testing.T) {
			archive := tosca.Source{Name: "a.csar", Data: zipOf(t, row.files...)}
			allocated := allocatedBy(func() {
				_, err := tosca.Translate(t.Context(), archive, nil, tosca.Options{})
				require.ErrorContains(t, err, row.want)
			})
			assert.Less(t, allocated, uint64(megabytes))
			t.Logf("%d KiB", allocated>>10)
		})
	}
}
