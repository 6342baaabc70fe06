package plan

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
)

func TestTheCountedSizeIsTheWrittenOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"spec": observertest.Spec(t), "text": rapid.String().Draw(t, "text"), "number": rapid.Float64().Draw(t, "number")}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.Len(t, raw, size(v))
	})
}
