package suggest_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/suggest"
)

func TestDidYouMean(t *testing.T) {
	names := []string{"manifest", "observerSchema", "suspend", "live"}
	for _, row := range []struct{ name, typed, want string }{
		{"a letter too few", "manifst", ": did you mean manifest?"},
		{"two letters swapped", "lvie", ": did you mean live?"},
		{"another case", "observerschema", ": did you mean observerSchema?"},
		{"the beginning", "obs", ": did you mean observerSchema?"},
		{"nothing near", "replicas", ""},
		{"nothing at all", "", ""},
		{"very much", strings.Repeat("manifest", 1000), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, suggest.DidYouMean(row.typed, names))
		})
	}
}
