package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

func TestTheCountedSizeIsTheWrittenOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"spec": observertest.Spec(t), "text": rapid.String().Draw(t, "text"), "number": rapid.Float64().Draw(t, "number")}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.Len(t, raw, size(v))
	})
}

func TestADefaultSchemaIsNeverLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
			"spec": observertest.Spec(t), "lists": []any{[]any{}, []any{[]any{}, map[string]any{"": []any{}}}},
		}
		o := manifest.Object{ID: manifest.ID{Group: "example.com", Kind: "Thing", Name: "a"}, APIVersion: "example.com/v1", Content: object}
		require.LessOrEqual(t, size(observer.DefaultEntry(o).Raw()), schemaFactor*size(object))
	})
}

// TestManyMessagesAreOneShortProblem checks that the status with the problem is not too long for the API server.
func TestManyMessagesAreOneShortProblem(t *testing.T) {
	problem := comparisonProblem(v1alpha1.ReasonListTooShort, manifest.ID{Kind: "Thing", Name: "a"}, slices.Repeat([]string{"spec.list is too short"}, 10_000), "")
	require.Equal(t, "Thing a: "+strings.Repeat("spec.list is too short; ", 4)+"spec.list is too short and 9995 more", problem.Message)
}
