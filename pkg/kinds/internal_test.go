package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsComplete(t *testing.T) {
	result, err := link(builtinJSON)
	require.NoError(t, err)
	require.NotNil(t, builtin().types[objectMeta])
	for kind, name := range result.kinds {
		require.NotNil(t, result.types[name], kind)
	}
}

func BenchmarkReadTable(b *testing.B) {
	for b.Loop() {
		if _, err := link(builtinJSON); err != nil {
			b.Fatal(err)
		}
	}
}
