package tosca_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca"
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
	_, err = tosca.Translate(t.Context(), tosca.Source{Name: "a.csar", Data: zipOf(t, entries("2.0")...)}, nil, tosca.Options{})
	assert.ErrorContains(t, err, `a.csar!main.yaml:4:3: imports[1]: the profile "acme.web:2.0" is not known`)
}
