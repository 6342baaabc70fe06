package manifest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seeds adds the files of testdata/manifest/seeds.
func seeds(f *testing.F) {
	files, err := filepath.Glob("../../testdata/manifest/seeds/*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
}

// FuzzRead checks the laws of Read: it never panics, each error has a position, and reading the JSON of a
// result gives the same result.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := Read("f", data)
		if err != nil {
			requirePlaces(t, err, len(data))
			require.Nil(t, documents)
			return
		}
		for _, document := range documents {
			require.Positive(t, document.Line)
			for key := range document.Value {
				line, column, known := document.Position(Path{key})
				require.True(t, known && line > 0 && column > 0, "%q", key)
			}
			requireReadsBack(t, document.Value)
		}
		_, _ = Expand(documents)
	})
}

// FuzzNormalize checks the laws of Normalize that the helper normalize does not check: identities are
// unique, and normalizing the result changes nothing.
func FuzzNormalize(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := Read("f", data)
		if err != nil {
			return
		}
		objects, _, err := normalize(t, string(data))
		if err != nil {
			require.NotEmpty(t, faultsOf[*ValidationError](t, err))
			return
		}
		require.Len(t, objects, len(documents))
		var contents []map[string]any
		seen := map[ID]bool{}
		for i, object := range objects {
			require.Equal(t, i, object.Position)
			require.False(t, seen[object.ID], "%s is there twice", object.ID)
			seen[object.ID] = true
			contents = append(contents, object.Content)
		}
		again, warnings, err := Normalize(contents, Options{Application: application})
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Equal(t, objects, again)
	})
}

func requirePlaces(t *testing.T, err error, size int) {
	t.Helper()
	for _, fault := range faultsOf[*Error](t, err) {
		require.Positive(t, fault.Line, err)
		require.Positive(t, fault.Column, err)
		require.LessOrEqual(t, fault.Line, size+1, err)
		require.NotEmpty(t, fault.Message)
	}
}

// faultsOf returns the errors that an error joins. All must be of one type.
func faultsOf[T error](t *testing.T, err error) []T {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	errs := []error{err}
	if ok {
		errs = joined.Unwrap()
	}
	var faults []T
	for _, err := range errs {
		var fault T
		require.ErrorAs(t, err, &fault)
		faults = append(faults, fault)
	}
	return faults
}

func requireReadsBack(t *testing.T, value map[string]any) {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	again, err := Read("g", raw)
	if err != nil && strings.Contains(err.Error(), errTooLarge.Error()) {
		return // encoding/json writes 1e19 as an integer, which exceeds 64 bits
	}
	require.NoError(t, err, "%s", raw)
	assert.Equal(t, []map[string]any{value}, values(again))
}
