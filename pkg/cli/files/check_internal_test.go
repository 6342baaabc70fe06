package files

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/manifest"
)

func TestASpecIsWhatItsDefinitionAllows(t *testing.T) {
	for _, row := range []struct{ name, spec, expected string }{
		{"all is well", "{manifest: [], retry: {maxAttempts: 3, multiplier: null}, adoption: Always, interval: 1m}", ""},
		{"a word that is none of the allowed", "{manifest: [], adoptedDeletionPolicy: Keep}", `spec.adoptedDeletionPolicy: "Keep" must be one of Delete, Orphan`},
		{"a number that is too large", "{manifest: [], retry: {multiplier: 11}}", "spec.retry.multiplier: should be less than or equal to 10"},
		{"a pattern", "{csar: {url: 'https://a.example/b', sha256: abc}}", "spec.csar.sha256: should match '^[0-9a-f]{64}$'"},
		{"what is missing", "{csar: {configMapRef: {name: a}}}", "spec.csar.configMapRef.key: is required"},
		{"in a list", "{csar: {url: 'https://a.example/b', inputsFrom: [{secretRef: {}}]}}", "spec.csar.inputsFrom[0].secretRef.name: is required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			documents, err := manifest.Read("app.yaml", []byte("metadata: {name: a}\nspec: "+row.spec))
			require.NoError(t, err)
			err = checkApplication(documents[0])
			if row.expected == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, row.expected)
		})
	}
}
