package mutants

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `make mutants` takes long and is run manually. This test only checks that every bug can be planted.
func TestMutantsCanBePlanted(t *testing.T) {
	all, err := Read("planted")
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for _, m := range all {
		_, err := m.Plant("../..")
		assert.NoError(t, err, m.Name)
	}
}
