package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// A rollout counts its replicas: the status is not written for each of them.
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
			assert.True(t, same(status(`{"a":"`+text+`","b":1}`), status(`{"b":1,"a":"`+text+`"}`)))
			assert.False(t, same(status(`{"a":"`+text+`","b":1}`), status(`{"a":"`+text+`","b":2}`)))
		})
	}
}
