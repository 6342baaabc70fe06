package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsComplete(t *testing.T) {
	result := link()
	require.NotNil(t, result.types[objectMeta])
	for kind, name := range result.kinds {
		require.NotNil(t, result.types[name], kind)
	}
}

func BenchmarkReadTable(b *testing.B) {
	for b.Loop() {
		link()
	}
}
