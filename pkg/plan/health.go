package plan

import (
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	result, err := compute(live)
	if err != nil {
		return healthUnknown, "its health cannot be read: " + err.Error()
	}
	return string(result.Status), result.Message
}

const notAvailable = "its API is not available: "

// compute is kstatus, and what it does not know: an APIService is served when it is
// Available, of which it says why not. Its message differs from one try to the next.
func compute(live map[string]any) (*status.Result, error) {
	object := &unstructured.Unstructured{Object: live}
	result, err := status.Compute(object)
	kind := schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	if err != nil || result.Status != status.CurrentStatus || object.GroupVersionKind().GroupKind() != kind {
		return result, err
	}
	conditions, _, err := unstructured.NestedSlice(live, "status", "conditions")
	if err != nil {
		return nil, err
	}
	reason := "nobody has looked yet"
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if text(condition, "type") != "Available" {
			continue
		}
		if text(condition, "status") == "True" {
			return result, nil
		}
		reason = text(condition, "reason")
	}
	return &status.Result{Status: status.InProgressStatus, Message: notAvailable + reason}, nil
}

// healthOf computes the kstatus of a live object, and what is wrong if it is
// not Current.
func healthOf(live map[string]any) (string, *Problem) {
	if live == nil {
		return healthNotFound, nil // that it is missing is said elsewhere
	}
	result, err := compute(live)
	if err != nil {
		return healthUnknown, &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: "its health cannot be read: " + err.Error()}
	}
	switch result.Status {
	case status.CurrentStatus:
		return healthCurrent, nil
	case status.FailedStatus:
		return string(result.Status), &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: result.Message}
	}
	message := "in progress"
	if strings.HasPrefix(result.Message, notAvailable) {
		message = result.Message
	}
	// kstatus counts replicas in its message: the status would be written for
	// each Pod that becomes ready.
	return string(result.Status), &Problem{Reason: v1alpha1.ReasonProgressing, Message: message}
}
