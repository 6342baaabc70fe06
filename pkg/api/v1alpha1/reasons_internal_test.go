package v1alpha1

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/internal/facts"
)

func TestEveryReasonHasAMeaning(t *testing.T) {
	assert.ElementsMatch(t, facts.Constants(t, "reasons.go", "Reason"), slices.Collect(maps.Keys(meanings)))
}
