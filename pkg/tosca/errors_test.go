package tosca_test

import (
	"context"
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

const (
	errorsFile   = "../../testdata/tosca/errors.txtar"
	validateFile = "../../testdata/tosca/validate.txtar"
)

// TestErrors translates NAME.yaml with NAME.inputs and compares every error, with
// its place and its code, with NAME.err.
func TestErrors(t *testing.T) {
	compareErrors(t, errorsFile, tosca.Translate)
}

// TestValidateErrors is about the mistakes that Validate alone finds.
func TestValidateErrors(t *testing.T) {
	compareErrors(t, validateFile, tosca.Validate)
}

type entryPoint func(context.Context, tosca.Source, map[string]tosca.Input, tosca.Options) (tosca.Result, error)

func compareErrors(t *testing.T, file string, call entryPoint) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	files := map[string][]byte{}
	for _, file := range archive.Files {
		files[file.Name] = file.Data
	}
	told := map[string]string{}
	for name, data := range files {
		name, isTemplate := strings.CutSuffix(name, ".yaml")
		if !isTemplate {
			continue
		}
		t.Run(name, func(t *testing.T) {
			_, err := call(t.Context(), tosca.Source{Name: "t.yaml", Data: data}, inputsOf(t, files[name+".inputs"]), tosca.Options{IgnoreForeignNodes: file == validateFile})
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
		require.NoError(t, os.WriteFile(filepath.FromSlash(file), txtar.Format(archive), 0o644))
	}
}

// withCodes is one line for each error.
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
