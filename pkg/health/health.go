// Package health decides whether a live object works as intended: by the expressions of spec.healthCheckExprs, by those
// for the kinds of operators, or by kstatus.
// Source: docs/status.md, "Health".
package health

import (
	"cmp"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/internal/truncate"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Values of kstatus.
const (
	Current     = string(status.CurrentStatus)
	Failed      = string(status.FailedStatus)
	NotFound    = string(status.NotFoundStatus)
	Terminating = string(status.TerminatingStatus)
	Unknown     = string(status.UnknownStatus)
)

// Compute returns the health of a live object, in the terms of kstatus, with a message. Expressions decide it if
// the Application or the built-in table has some for the kind, and kstatus otherwise. An object in deletion is
// always Terminating.
func Compute(app *v1alpha1.Application, live map[string]any) (health, message string) {
	object := &unstructured.Unstructured{Object: live}
	gk := object.GroupVersionKind().GroupKind()
	isTerminating := manifest.NestedString(live, "metadata", "deletionTimestamp") != ""
	if check := cmp.Or(writtenCheck(app, gk), builtinCheck(gk, live)); check != nil && !isTerminating {
		state, message := check.evaluate(live)
		return string(state), truncate.String(message, 1024)
	}
	result, err := status.Compute(object)
	if err != nil {
		return Unknown, "its health is not known: " + err.Error()
	}
	message = result.Message
	if result.Status == status.InProgressStatus || result.Status == status.FailedStatus {
		message = cmp.Or(nativeMessage(live), message)
	}
	return string(result.Status), truncate.String(message, 1024)
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
		if c := Condition(live, kind); manifest.NestedString(c, "status") == when {
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

// Condition returns the condition of a type from the status of an object; nil if there is none.
func Condition(live map[string]any, kind string) map[string]any {
	for _, condition := range manifest.NestedMaps(live, "status", "conditions") {
		if manifest.NestedString(condition, "type") == kind {
			return condition
		}
	}
	return nil
}
