package turn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	learned := status("False", v1alpha1.ReasonProgressing, "InProgress", "Ready: 1/3")
	learned.Resources[0].UID = "another"
	for _, row := range []struct {
		name          string
		before, after v1alpha1.ApplicationStatus
		delay         time.Duration
	}{
		{"how far it is", begun, further, progressDelay},
		{"that it begins", done, begun, reportDelay},
		{"that it is done", further, done, 0},
		{"that it has failed", begun, failed, 0},
		{"what must survive a death", begun, learned, 0},
	} {
		t.Run(row.name, func(t *testing.T) { assert.Equal(t, row.delay, delayOf(row.before, row.after)) })
	}
}
