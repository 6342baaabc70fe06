package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

func TestFieldManagerOf(t *testing.T) {
	assert.Equal(t, "holdfast:shop/web", v1alpha1.FieldManagerOf("shop", "web"))
	long := strings.Repeat("a", 253)
	one, other := v1alpha1.FieldManagerOf("shop", long), v1alpha1.FieldManagerOf("shop", long[1:]+"b")
	assert.Len(t, one, 128)
	assert.NotEqual(t, one, other)
	assert.True(t, strings.HasPrefix(one, "holdfast:shop/aaa"))
}
