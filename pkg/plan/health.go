package plan

import (
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Health of a resource, as kstatus names it.
const (
	healthCurrent  = string(status.CurrentStatus)
	healthNotFound = string(status.NotFoundStatus)
	healthUnknown  = string(status.UnknownStatus)
)

// Health is the kstatus of a live object, and what it says about it; a message
// may count replicas.
func Health(live map[string]any) (health, message string) {
	result, err := status.Compute(&unstructured.Unstructured{Object: live})
	if err != nil {
		return healthUnknown, "its health cannot be read: " + err.Error()
	}
	return string(result.Status), result.Message
}

// healthOf computes the kstatus of a live object, and what is wrong if it is
// not Current.
func healthOf(live map[string]any) (string, *Problem) {
	if live == nil {
		return healthNotFound, nil // that it is missing is said elsewhere
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: live})
	if err != nil {
		return healthUnknown, &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: "its health cannot be read: " + err.Error()}
	}
	switch result.Status {
	case status.CurrentStatus:
		return healthCurrent, nil
	case status.FailedStatus:
		return string(result.Status), &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: result.Message}
	}
	// kstatus counts replicas in its message: the status would be written for
	// each Pod that becomes ready.
	return string(result.Status), &Problem{Reason: v1alpha1.ReasonProgressing, Message: "in progress"}
}
