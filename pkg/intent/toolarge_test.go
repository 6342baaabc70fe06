package intent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/slice"
)

// repeated returns n elements with the same JSON.
func repeated(n int, text string) []runtime.RawExtension {
	items := make([]runtime.RawExtension, n)
	for i := range items {
		items[i].Raw = []byte(text)
	}
	return items
}

func TestWhatIsTooLarge(t *testing.T) {
	definition, err := yaml.YAMLToJSON(crd.Applications)
	require.NoError(t, err)
	dashboard := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dashboard"},"data":{"a.json":%q}}`, strings.Repeat(`{"title": "panel"} `, 5_000))
	half := (5600 << 10) / 2
	for _, row := range []struct {
		name             string
		manifest, schema []runtime.RawExtension
		limit            int
		message          string
	}{
		{"5.6 MB of definitions and dashboards, as kube-prometheus has, in a Pod of 512 MiB",
			append(repeated(half/len(definition), string(definition)), repeated(half/len(dashboard), dashboard)...), nil, 115 << 20, ""},
		{"the most manifests", repeated(20_000, "{}"), nil, intent.MaxDecoded, ""},
		{"one more", repeated(20_001, "{}"), nil, intent.MaxDecoded, "spec.manifest has 20001 elements, more than the limit of 20000"},
		{"many schemas", nil, repeated(450_000, "{}"), intent.MaxDecoded, "spec.observerSchema has 450000 elements, more than the limit of 20000"},
		{"many maps in one manifest", repeated(1, "["+strings.Repeat(`{"":0},`, 400_000)+"0]"), nil, intent.MaxDecoded, "need 167 MiB of memory, more than the limit of 128"},
		{"the same in two lists", repeated(1, "["+strings.Repeat(`{"":0},`, 200_000)+"0]"), repeated(1, "["+strings.Repeat(`{"":0},`, 200_000)+"0]"), intent.MaxDecoded, "need 167 MiB of memory, more than the limit of 128"},
		{"less memory for the controller", repeated(1, "["+strings.Repeat(`{"":0},`, 10_000)+"0]"), nil, 1 << 20, "need 5 MiB of memory, more than the limit of 1"},
		{"a deep manifest", repeated(1, strings.Repeat("[", 1_000)), nil, intent.MaxDecoded, ""},
		{"a deeper one", repeated(1, strings.Repeat("[", 1_001)), nil, intent.MaxDecoded, "spec.manifest[0] has more than the limit of 1000 nested levels"},
	} {
		t.Run(row.name, func(t *testing.T) {
			app := &v1alpha1.Application{Spec: v1alpha1.ApplicationSpec{Manifest: row.manifest, ObserverSchema: row.schema}}
			problem := intent.TooLargeProblem(app, row.limit)
			if row.message == "" {
				require.Nil(t, problem)
				return
			}
			require.NotNil(t, problem)
			assert.Equal(t, v1alpha1.ReasonTooLarge, problem.Reason)
			assert.Contains(t, problem.Message, row.message)
			assert.True(t, problem.Stalled(), "a retry makes no sense")
			assert.NotEmpty(t, problem.Remedy.Text)
		})
	}
}

// The reason tells an oversized slice from an unreadable one.
func TestAProblemOfAnUnreadableSlice(t *testing.T) {
	app := &v1alpha1.Application{}
	excess := intent.SliceProblem(app, &slice.Unavailable{Name: "a", Cause: &footprint.Excess{Number: 7, Limit: 5, Unit: "elements"}})
	assert.Equal(t, v1alpha1.ReasonTooLarge, excess.Reason)
	assert.Equal(t, "the ApplicationSlices from a on have 7 elements, more than the limit of 5: nothing is created, corrected or deleted. Split it into several Applications", excess.Error())
	for _, cause := range []error{compress.ErrTooLong, errors.New("no frame")} {
		other := intent.SliceProblem(app, &slice.Unavailable{Name: "a", Cause: cause})
		assert.Equal(t, v1alpha1.ReasonSliceUnavailable, other.Reason)
		assert.Contains(t, other.Error(), "Delete that ApplicationSlice")
	}
}
