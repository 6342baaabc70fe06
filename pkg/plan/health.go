package plan

import (
	"cmp"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Health values of kstatus.
const (
	healthCurrent  = string(status.CurrentStatus)
	healthNotFound = string(status.NotFoundStatus)
	healthUnknown  = string(status.UnknownStatus)
)

// Health returns the kstatus of a live object with a message. The message is from the object itself if it
// has one, and from kstatus otherwise, which may count replicas.
func Health(live map[string]any) (health, message string) {
	result, err := compute(live)
	if err != nil {
		return healthUnknown, "its health is not known: " + err.Error()
	}
	message = result.Message
	if result.Status == status.InProgressStatus || result.Status == status.FailedStatus {
		message = cmp.Or(nativeMessage(live), message)
	}
	return string(result.Status), shorten(message, 1024)
}

// compute returns the result of kstatus, and adds what kstatus does not know: an APIService is current only
// when it is Available.
func compute(live map[string]any) (*status.Result, error) {
	object := &unstructured.Unstructured{Object: live}
	result, err := status.Compute(object)
	if err != nil || result.Status != status.CurrentStatus || object.GroupVersionKind().GroupKind() != apiService {
		return result, err
	}
	if _, _, err := unstructured.NestedSlice(live, "status", "conditions"); err != nil {
		return nil, err
	}
	if available := conditionOf(live, "Available"); manifest.NestedString(available, "status") != "True" {
		reason := cmp.Or(manifest.NestedString(available, "reason"), "it has not been checked yet")
		return &status.Result{Status: status.InProgressStatus, Message: "its API is not available: " + reason}, nil
	}
	return result, nil
}

var (
	apiService = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	replicaSet = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	pod        = schema.GroupKind{Kind: "Pod"}
)

// nativeMessage returns the message that a built-in object which is not current has in its status, where
// the message of kstatus is less specific: why a Pod is not created, not scheduled, or does not start. It
// returns "" if there is no such message.
func nativeMessage(live map[string]any) string {
	said := func(kind, when string) string {
		if c := conditionOf(live, kind); manifest.NestedString(c, "status") == when {
			return manifest.NestedString(c, "reason") + ": " + manifest.NestedString(c, "message")
		}
		return ""
	}
	object := unstructured.Unstructured{Object: live}
	switch object.GroupVersionKind().GroupKind() {
	case deployment, replicaSet:
		return cmp.Or(said("ReplicaFailure", "True"), said("Progressing", "False"))
	case pod:
		return cmp.Or(said("PodScheduled", "False"), waits(live, "initContainerStatuses"), waits(live, "containerStatuses"))
	}
	return ""
}

// waits returns the reason why the first container that does not start is waiting.
func waits(live map[string]any, statuses string) string {
	for _, container := range manifest.NestedMaps(live, "status", statuses) {
		reason := manifest.NestedString(container, "state", "waiting", "reason")
		if reason == "" || reason == "ContainerCreating" || reason == "PodInitializing" {
			continue
		}
		return fmt.Sprintf("container %s: %s: %s", manifest.NestedString(container, "name"), reason, manifest.NestedString(container, "state", "waiting", "message"))
	}
	return ""
}

// conditionOf returns the condition of a type from the status of an object; nil if there is none.
func conditionOf(live map[string]any, kind string) map[string]any {
	for _, condition := range manifest.NestedMaps(live, "status", "conditions") {
		if manifest.NestedString(condition, "type") == kind {
			return condition
		}
	}
	return nil
}

// healthOf returns the health of a live object, and a Problem if it is not Current.
func healthOf(live map[string]any) (string, *Problem) {
	if live == nil {
		return healthNotFound, nil // another Problem reports that it is missing
	}
	health, message := Health(live)
	switch health {
	case healthCurrent:
		return health, nil
	case healthUnknown, string(status.FailedStatus):
		return health, &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: message}
	}
	return health, &Problem{Reason: v1alpha1.ReasonProgressing, Message: message}
}
