package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// TestAStatusIsReadAsItWasWritten writes and reads statuses of any size.
func TestAStatusIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var status v1alpha1.ApplicationStatus
		status.Summary = rapid.StringMatching("[0-9]/[0-9]").Draw(t, "summary")
		raw := func(i int, label string) runtime.RawExtension {
			text := rapid.StringMatching("[a-z]{0,9}").Draw(t, label)
			return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"name":"r%d","text":"%s"}`, i, strings.Repeat(text+"-", rapid.SampledFrom([]int{1, 3000, 9000}).Draw(t, "size")))}
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "resources") {
			status.MangledObserverSchema = append(status.MangledObserverSchema, raw(i, "entry"))
			status.LastAppliedManifest = append(status.LastAppliedManifest, raw(i, "desired"))
			observed := status.LastAppliedManifest[i]
			if rapid.Bool().Draw(t, "drifted") {
				observed = raw(i, "observed")
			}
			status.LastObservedManifest = append(status.LastObservedManifest, observed)
		}
		before := *status.DeepCopy()

		written, err := json.Marshal(status)
		require.NoError(t, err)
		require.Less(t, len(written), 70_000)
		var read v1alpha1.ApplicationStatus
		require.NoError(t, json.Unmarshal(written, &read))

		require.Equal(t, before, status, "what was written")
		require.Equal(t, before, read, "what was read")
		whole, err := json.Marshal(v1alpha1.WholeStatus(read))
		require.NoError(t, err)
		require.NotContains(t, string(whole), `"record"`)
		require.Equal(t, len(status.LastAppliedManifest) > 0, strings.Contains(string(whole), "lastAppliedManifest"))
	})
}

func TestASmallStatusIsWrittenAsItIs(t *testing.T) {
	status := v1alpha1.ApplicationStatus{LastAppliedManifest: []runtime.RawExtension{{Raw: []byte(`{"kind":"ConfigMap"}`)}}}
	written, err := json.Marshal(status)
	require.NoError(t, err)
	assert.JSONEq(t, `{"lastAppliedManifest":[{"kind":"ConfigMap"}]}`, string(written))
}

func TestARecordThatIsNoneIsNoRecord(t *testing.T) {
	for _, record := range []string{"", "bm9uZQ=="} {
		var status v1alpha1.ApplicationStatus
		require.NoError(t, json.Unmarshal([]byte(`{"summary":"1/1","record":"`+record+`"}`), &status), record)
		assert.Equal(t, v1alpha1.ApplicationStatus{Summary: "1/1"}, status)
	}
}
