package plan

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
)

func TestTheCountedSizeIsAboutTheWrittenOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"spec": observertest.Spec(t), "text": rapid.String().Draw(t, "text"), "number": rapid.Float64().Draw(t, "number")}
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		require.GreaterOrEqual(t, size(v), len(raw))
		require.LessOrEqual(t, size(v), len(raw)*3/2+20)
	})
}
