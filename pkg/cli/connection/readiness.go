package connection

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Readiness is the condition Ready as people see it.
type Readiness struct{ Status, Reason, Message string }

// WaitingReason stands for the reason of a condition that is not there yet.
const WaitingReason = v1alpha1.ReasonWaiting

// ReadyOf reads the condition Ready of the generation that is stored.
func ReadyOf(object map[string]any) Readiness {
	generation, _, _ := unstructured.NestedInt64(object, "metadata", "generation")
	observed, _, _ := unstructured.NestedInt64(object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["type"] != "Ready" {
			continue
		}
		text := func(field string) string { s, _ := c[field].(string); return s }
		if observed != generation {
			return Readiness{"Unknown", WaitingReason, "the controller has not looked at this version yet"}
		}
		return Readiness{text("status"), text("reason"), text("message")}
	}
	return Readiness{"Unknown", WaitingReason, "the controller has not looked at it yet"}
}

// ReadyIn is the condition Ready of the generation that is stored.
func ReadyIn(app *v1alpha1.Application) Readiness {
	if app.Status.ObservedGeneration == app.Generation {
		for _, c := range app.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return Readiness{string(c.Status), c.Reason, c.Message}
			}
		}
	}
	if len(app.Status.Conditions) > 0 {
		return Readiness{"Unknown", WaitingReason, "the controller has not looked at this version yet"}
	}
	return Readiness{"Unknown", WaitingReason, "the controller has not looked at it yet"}
}
