package mysql_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/template"
)

var update = flag.Bool("update", false, "write the golden files")

const cases = "../../testdata/mysql"

// Each directory contains a Mysql and optionally live objects. The expected result is in
// application.golden.yaml or refused.golden.txt.
func TestGolden(t *testing.T) {
	entries, err := os.ReadDir(cases)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	for _, entry := range entries {
		t.Run(entry.Name(), func(t *testing.T) {
			directory := filepath.Join(cases, entry.Name())
			input := template.Input{Object: documentsOf(t, directory, "mysql.yaml")[0], Live: liveOf(t, directory)}
			rendered, err := mysql.Template{}.Render(input)
			faults := append(template.ValidationErrors(err), rendered.Unknown...)

			compare(t, filepath.Join(directory, "refused.golden.txt"), textOf(faults))
			if len(faults) > 0 {
				compare(t, filepath.Join(directory, "application.golden.yaml"), nil)
				return
			}
			app, err := rendered.Application(input.Object)
			require.NoError(t, err)
			compare(t, filepath.Join(directory, "application.golden.yaml"), yamlOf(t, app))
			assertAccepted(t, app)
		})
	}
}

func documentsOf(t *testing.T, directory, name string) []map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(directory, name))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	documents, err := manifest.Read(name, content)
	require.NoError(t, err)
	var objects []map[string]any
	for _, document := range documents {
		objects = append(objects, document.Value)
	}
	return objects
}

func liveOf(t *testing.T, directory string) template.Live {
	t.Helper()
	live := template.Live{}
	for _, object := range documentsOf(t, directory, "live.yaml") {
		id, ok := manifest.Identify(object, "shop", manifest.BuiltinScopes())
		require.True(t, ok)
		live[id] = object
	}
	return live
}

func textOf(faults []*template.ValidationError) []byte {
	var b bytes.Buffer
	for _, fault := range faults {
		b.WriteString(fault.Reason + ": " + fault.Error() + "\n")
	}
	return b.Bytes()
}

func yamlOf(t *testing.T, app *v1alpha1.Application) []byte {
	t.Helper()
	raw, err := json.Marshal(app)
	require.NoError(t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	delete(content, "status")
	text, err := yaml.Marshal(content)
	require.NoError(t, err)
	return text
}

// compare compares content with a golden file, or updates the file. Empty content means that there is no
// file.
func compare(t *testing.T, path string, actual []byte) {
	t.Helper()
	if *update {
		if len(actual) == 0 {
			_ = os.Remove(path)
			return
		}
		require.NoError(t, os.WriteFile(path, actual, 0o600))
		return
	}
	expected, err := os.ReadFile(path)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	assert.Equal(t, string(expected), string(actual), "run with -update and read the diff")
}

// assertAccepted checks that the engine accepts the Application: it creates all objects unchanged and holds
// the fields in the schema.
func assertAccepted(t *testing.T, app *v1alpha1.Application) {
	t.Helper()
	if app.Namespace == "" {
		app.Namespace = "default"
	}
	decided := plan.Decide(plan.Input{Application: app, Kinds: intent.Offline(), ContestPolicy: plan.DefaultContestPolicy, Now: time.Unix(0, 0)})
	require.Nil(t, decided.Invalid)
	assert.Len(t, decided.Changes, len(app.Spec.Manifest))
	for _, change := range decided.Changes {
		assert.Equal(t, plan.Create, change.Action, change.ID)
	}
	for _, entry := range app.Spec.ObserverSchema {
		assert.NotContains(t, string(entry.Raw), "null", "kubectl apply would drop it")
		assert.NotContains(t, strings.ToLower(string(entry.Raw)), "password", "a generated value is not observed")
	}
}
