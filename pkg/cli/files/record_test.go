package files_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
)

func TestAPackedRecordIsShownOnRequest(t *testing.T) {
	for _, row := range []struct {
		name   string
		size   int
		packed bool
	}{
		{"small", 10, false},
		{"large", 80 << 10, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			desired := fmt.Sprintf(`{"kind":"ConfigMap","data":{"key":%q,"n":1}}`, strings.Repeat("x", row.size))
			raw, err := json.Marshal(v1alpha1.ApplicationStatus{Summary: "1/1", LastAppliedManifest: []runtime.RawExtension{{Raw: []byte(desired)}}})
			require.NoError(t, err)
			var status map[string]any
			require.NoError(t, json.Unmarshal(raw, &status))
			object := map[string]any{"kind": "Application", "status": status}
			assert.Equal(t, row.packed, status["record"] != nil)

			require.NoError(t, files.UnpackRecord(object))

			shown, err := json.Marshal(object)
			require.NoError(t, err)
			assert.JSONEq(t, `{"kind":"Application","status":{"summary":"1/1","lastAppliedManifest":[`+desired+`]}}`, string(shown))
		})
	}
}
