package reconcile

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// During a rollout the replica counts change often. The status is not written for each change.
func TestReportsThatMayWait(t *testing.T) {
	status := func(ready, reason, health, message string) v1alpha1.ApplicationStatus {
		return v1alpha1.ApplicationStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionStatus(ready), Reason: reason, Message: message}},
			Resources:  []v1alpha1.ResourceStatus{{Health: health, Reason: reason, Message: message}},
		}
	}
	done := status("True", v1alpha1.ReasonReady, "Current", "")
	begun := status("False", v1alpha1.ReasonProgressing, "InProgress", "Ready: 0/3")
	further := status("False", v1alpha1.ReasonProgressing, "InProgress", "Ready: 1/3")
	failed := status("False", v1alpha1.ReasonUnhealthy, "Failed", "Ready: 1/3")
	stalled := func(s v1alpha1.ApplicationStatus) v1alpha1.ApplicationStatus {
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonForbidden}}
		return s
	}
	learned := status("False", v1alpha1.ReasonProgressing, "InProgress", "Ready: 1/3")
	learned.Resources[0].UID = "another"
	for _, row := range []struct {
		name          string
		before, after v1alpha1.ApplicationStatus
		delay         time.Duration
	}{
		{"how far it is", begun, further, progressDelay},
		{"how far it is while another resource is stalled", stalled(begun), stalled(further), progressDelay},
		{"nothing", begun, begun, reportDelay},
		{"that it begins", done, begun, reportDelay},
		{"that it is done", further, done, 0},
		{"that it has failed", begun, failed, 0},
		{"what must survive a death", begun, learned, 0},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.delay, delayOf(row.before, row.after)) })
	}
}

func TestAStatusIsTheSameInAnyOrderOfKeys(t *testing.T) {
	for name, text := range map[string]string{"small": "x", "large enough to be packed": strings.Repeat("x", 100<<10)} {
		t.Run(name, func(t *testing.T) {
			status := func(raw string) v1alpha1.ApplicationStatus {
				return v1alpha1.ApplicationStatus{LastAppliedManifest: []runtime.RawExtension{{Raw: []byte(raw)}}}
			}
			assert.True(t, statusEqual(status(`{"a":"`+text+`","b":1}`), status(`{"b":1,"a":"`+text+`"}`)))
			assert.False(t, statusEqual(status(`{"a":"`+text+`","b":1}`), status(`{"a":"`+text+`","b":2}`)))
		})
	}
}

// Two statuses are equal if the API server stores them in the same way.
func TestTheSameStatusIsTheSameJSON(t *testing.T) {
	draw := func(seed int64) (s v1alpha1.ApplicationStatus) {
		randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 2).MaxDepth(12).Funcs(
			func(r *runtime.RawExtension, c randfill.Continue) {
				r.Raw = []byte([]string{`{"a":1,"b":["x"]}`, `{"b":["x"],"a":1}`, `{"a":2}`}[c.Intn(3)])
			},
			func(at *metav1.Time, c randfill.Continue) {
				at.Time = time.Unix(int64(c.Intn(2)), int64(c.Intn(2))).UTC()
			},
			func(s *string, c randfill.Continue) { *s = []string{"", "one", "two"}[c.Intn(3)] },
			func(n *int64, c randfill.Continue) { *n = int64(c.Intn(2)) },
			func(b *bool, c randfill.Continue) { *b = c.Bool() },
		).Fill(&s)
		return s
	}
	kept := func(s v1alpha1.ApplicationStatus) (content any) {
		raw, err := json.Marshal(v1alpha1.WholeStatus(s))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &content))
		return content
	}
	equal, decoded := 0, 0
	for i := range int64(1000) {
		one, changed := draw(i), draw(-i-1)
		other := one.DeepCopy()
		field := int(i) % reflect.TypeFor[v1alpha1.ApplicationStatus]().NumField()
		reflect.ValueOf(other).Elem().Field(field).Set(reflect.ValueOf(changed).Field(field))
		wanted := reflect.DeepEqual(kept(one), kept(*other))
		require.Equal(t, wanted, statusEqual(one, *other), "seed %d, %+v and %+v", i, reflect.ValueOf(one).Field(field), reflect.ValueOf(changed).Field(field))
		if wanted {
			equal++
		}
		content := kept(one)
		leaves := changes(content)
		if len(leaves) == 0 {
			continue
		}
		leaves[rand.New(rand.NewPCG(uint64(i), 0)).IntN(len(leaves))]()
		raw, err := json.Marshal(content)
		require.NoError(t, err)
		var next v1alpha1.ApplicationStatus
		if json.Unmarshal(raw, &next) == nil { // the changed text may be no valid value of its type
			decoded++
			require.Equal(t, reflect.DeepEqual(kept(one), kept(next)), statusEqual(one, next), "seed %d, %s", i, raw)
		}
	}
	assert.Greater(t, equal, 20)
	assert.Greater(t, decoded, 500)
}

// changes returns functions that each change one leaf of decoded JSON.
func changes(content any) (all []func()) {
	leaf := func(v any, set func(any)) {
		switch v := v.(type) {
		case string:
			if at, err := time.Parse(time.RFC3339, v); err == nil {
				all = append(all, func() { set(at.Add(time.Second).Format(time.RFC3339)) })
			} else {
				all = append(all, func() { set(v + "1") })
			}
		case float64:
			all = append(all, func() { set(v + 1) })
		case bool:
			all = append(all, func() { set(!v) })
		default:
			all = append(all, changes(v)...)
		}
	}
	switch v := content.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			leaf(v[key], func(to any) { v[key] = to })
		}
	case []any:
		for i := range v {
			leaf(v[i], func(to any) { v[i] = to })
		}
	}
	return all
}
