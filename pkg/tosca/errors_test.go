package tosca_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/tosca"
)

const errorsFile = "../../testdata/tosca/errors.txtar"

// TestErrors translates NAME.yaml with NAME.inputs and compares every error, with its position and its
// code, with NAME.err.
func TestErrors(t *testing.T) {
	archive, files := errorCases(t)
	told := map[string]string{}
	for name, data := range files {
		name, isTemplate := strings.CutSuffix(name, ".yaml")
		if !isTemplate {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, err := tosca.Translate(t.Context(), tosca.Source{Name: "t.yaml", Data: data}, inputsOf(t, files[name+".inputs"]), tosca.Options{})
			require.Error(t, err)
			told[name+".err"] = withCodes(t, err)
			if !*update {
				assert.Equal(t, string(files[name+".err"]), told[name+".err"])
			}
		})
	}
	if *update {
		for i, file := range archive.Files {
			if text, there := told[file.Name]; there {
				archive.Files[i].Data = []byte(text)
			}
		}
		require.NoError(t, os.WriteFile(filepath.FromSlash(errorsFile), txtar.Format(archive), 0o644))
	}
}

func errorCases(t testing.TB) (archive *txtar.Archive, files map[string][]byte) {
	t.Helper()
	archive, err := txtar.ParseFile(errorsFile)
	require.NoError(t, err)
	files = map[string][]byte{}
	for _, file := range archive.Files {
		files[file.Name] = file.Data
	}
	return archive, files
}

// Validate reports the errors that Translate reports, and those of later stages. Values can be missing, and
// the template need not contain anything to translate.
func TestValidateFindsWhatTranslateFinds(t *testing.T) {
	_, files := errorCases(t)
	later := 0
	for name, data := range files {
		name, isTemplate := strings.CutSuffix(name, ".yaml")
		if !isTemplate {
			continue
		}
		t.Run(name, func(t *testing.T) {
			from, inputs := tosca.Source{Name: "t.yaml", Data: data}, inputsOf(t, files[name+".inputs"])
			_, err := tosca.Validate(t.Context(), from, inputs, tosca.Options{})
			found := tosca.Errors(err)
			_, err = tosca.Translate(t.Context(), from, inputs, tosca.Options{})
			if len(found) > len(tosca.Errors(err)) {
				later++
			}
			for _, mistake := range tosca.Errors(err) {
				if mistake.Code != tosca.MissingInput && !strings.Contains(mistake.Msg, "there is nothing to translate") {
					assert.Contains(t, found, mistake)
				}
			}
		})
	}
	assert.Positive(t, later, "mistakes of later stages")
}

// withCodes returns one line for each error.
func withCodes(t *testing.T, err error) string {
	t.Helper()
	var text strings.Builder
	for _, one := range tosca.Errors(err) {
		assert.NotEmpty(t, one.Code)
		text.WriteString(one.Error() + " [" + string(one.Code) + "]\n")
	}
	return text.String()
}

func inputsOf(t *testing.T, data []byte) map[string]tosca.Input {
	t.Helper()
	inputs := map[string]tosca.Input{}
	documents, err := manifest.Read("inputs", data)
	require.NoError(t, err)
	for _, document := range documents {
		for name, value := range document.Value {
			inputs[name] = tosca.Input{Value: value}
		}
	}
	return inputs
}
