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

// Health returns the health of a live object, in the terms of kstatus, with a message. Expressions decide it if
// the Application or the built-in table has some for the kind, and kstatus otherwise. An object in deletion is
// always Terminating.
func Health(app *v1alpha1.Application, live map[string]any) (health, message string) {
	object := &unstructured.Unstructured{Object: live}
	gk := object.GroupVersionKind().GroupKind()
	if check := cmp.Or(writtenCheck(app, gk), builtinCheck(gk, live)); check != nil && !isTerminating(live) {
		state, message := check.evaluate(live)
		return string(state), shorten(message, 1024)
	}
	result, err := status.Compute(object)
	if err != nil {
		return healthUnknown, "its health is not known: " + err.Error()
	}
	message = result.Message
	if result.Status == status.InProgressStatus || result.Status == status.FailedStatus {
		message = cmp.Or(nativeMessage(live), message)
	}
	return string(result.Status), shorten(message, 1024)
}

func isTerminating(live map[string]any) bool {
	return manifest.NestedString(live, "metadata", "deletionTimestamp") != ""
}

var (
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

// waits returns the reason why the first container that does not start is waiting, or "" if there is none. statuses
// is the list in the status of the Pod. The first moments of a normal start do not count.
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

// healthOf returns the health of a live object, and a Problem if it is not Current. The Problem stalls nothing: see
// conditionWriter.healthy.
func healthOf(app *v1alpha1.Application, live map[string]any) (string, *Problem) {
	if live == nil {
		return healthNotFound, nil // another Problem reports that it is missing
	}
	health, message := Health(app, live)
	switch health {
	case healthCurrent:
		return health, nil
	case healthUnknown, string(status.FailedStatus):
		return health, &Problem{Reason: v1alpha1.ReasonUnhealthy, Message: message}
	}
	return health, &Problem{Reason: v1alpha1.ReasonProgressing, Message: message}
}
