package tosca_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/tosca"
)

var update = flag.Bool("update", false, "write the golden files")

const goldenRoot = "../../testdata/tosca"

// golden contains the parts of a Result that a golden file records.
type golden struct {
	Warnings []string         `yaml:"warnings,omitempty"`
	Outputs  []tosca.Output   `yaml:"outputs,omitempty"`
	Metadata map[string]any   `yaml:"metadata,omitempty"`
	Objects  []map[string]any `yaml:"objects"`
}

// TestGolden translates every case in testdata/tosca. A case is template.yaml, or the directory csar,
// packed as an archive, with inputs.yaml and options.yaml.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, dir := range cases {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			result, err := tosca.Translate(t.Context(), caseSource(t, dir), caseInputs(t, dir), caseOptions(t, dir))
			require.NoError(t, err)
			got, err := yaml.Marshal(golden{texts(result.Warnings), result.Outputs, result.Metadata, result.Objects})
			require.NoError(t, err)
			file := filepath.Join(dir, "result.golden.yaml")
			if *update {
				require.NoError(t, os.WriteFile(file, got, 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err, "run `go test ./pkg/tosca -update` and read what it wrote")
			assert.Equal(t, string(want), string(got))
		})
	}
}

func caseSource(t *testing.T, dir string) tosca.Source {
	t.Helper()
	if info, err := os.Stat(filepath.Join(dir, "csar")); err == nil && info.IsDir() {
		return tosca.Source{Name: "shop.csar", Data: zipOf(t, filesIn(t, filepath.Join(dir, "csar"))...)}
	}
	data, err := os.ReadFile(filepath.Join(dir, "template.yaml"))
	require.NoError(t, err)
	return tosca.Source{Name: "template.yaml", Data: data}
}

func caseInputs(t *testing.T, dir string) map[string]tosca.Input {
	t.Helper()
	inputs := map[string]tosca.Input{}
	for name, value := range caseFile(t, dir, "inputs.yaml") {
		inputs[name] = tosca.Input{Value: value}
	}
	return inputs
}

func caseOptions(t *testing.T, dir string) tosca.Options {
	t.Helper()
	options := caseFile(t, dir, "options.yaml")
	return tosca.Options{IgnoreForeignNodes: options["ignoreForeignNodes"] == true, StrictConcat: options["strictConcat"] == true}
}

func caseFile(t *testing.T, dir, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	documents, err := manifest.Read(name, data)
	require.NoError(t, err)
	require.Len(t, documents, 1)
	return documents[0].Value
}

func texts(warnings []tosca.Warning) []string {
	var all []string
	for _, warning := range warnings {
		all = append(all, warning.Error())
	}
	return all
}
