package tosca

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryFunctionHasAVersion(t *testing.T) {
	assert.Equal(t, keysOf(since), keysOf(functions))
}
