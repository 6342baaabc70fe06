package connection

import (
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Readiness is the condition Ready of the stored generation.
type Readiness struct {
	// Status is True, False or Unknown, as in a condition.
	Status, Reason, Message string
	// Pending is true if the controller has not reconciled the stored generation yet.
	Pending bool
}

// pending returns the readiness of an Application that the controller has not reconciled. what names the
// Application or its version.
func pending(what string) Readiness {
	return Readiness{"Unknown", v1alpha1.ReasonWaiting, "the controller has not reconciled " + what + " yet", true}
}

// ReadyOf returns the condition Ready of a stored Application, a JSON object. A condition of an older
// generation counts as pending.
//
//	condition Ready   observedGeneration   result
//	none              any                  Unknown, "has not reconciled it yet", pending
//	any               another              Unknown, "has not reconciled this version yet", pending
//	any               the generation       the condition
func ReadyOf(object map[string]any) Readiness {
	generation, _, _ := unstructured.NestedInt64(object, "metadata", "generation")
	observed, _, _ := unstructured.NestedInt64(object, "status", "observedGeneration")
	for _, c := range manifest.NestedMaps(object, "status", "conditions") {
		switch {
		case c["type"] != "Ready":
		case observed != generation:
			return pending("this version")
		default:
			return Readiness{manifest.NestedString(c, "status"), manifest.NestedString(c, "reason"), manifest.NestedString(c, "message"), false}
		}
	}
	return pending("it")
}

// ReadyIn returns the condition Ready of a typed Application. A condition of an older generation counts as
// pending.
func ReadyIn(app *v1alpha1.Application) Readiness {
	c := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionReady)
	if c != nil && app.Status.ObservedGeneration == app.Generation {
		return Readiness{string(c.Status), c.Reason, c.Message, false}
	}
	if len(app.Status.Conditions) > 0 {
		return pending("this version")
	}
	return pending("it")
}

// NoController returns a message that no controller does something, with the possible causes. The controller may be
// scaled to 0, or started with --watch-namespaces or --selector that exclude the Application.
func NoController(does string) string {
	return "no controller " + does + ": none runs, or none selects its namespace and labels"
}

// MissingStep returns a message about what no controller has done yet for a pending Application: delete
// it, reconcile its current version, or reconcile it at all.
func MissingStep(app *v1alpha1.Application) string {
	switch {
	case app.DeletionTimestamp != nil:
		return NoController("removes its finalizer")
	case len(app.Status.Conditions) > 0:
		return NoController("has reconciled this version")
	}
	return NoController("has reconciled it")
}

// IsUnattended reports whether an Application has been pending for longer than a running controller needs. Writes of
// the status do not count as changes, because the controller makes them. The limit is 10 s: a controller acts on a
// change within a second, and its queue may be long. The times are from the API server, and now from this machine,
// so a wrong clock can change the result.
func IsUnattended(app *v1alpha1.Application, now time.Time) bool {
	const patience = 10 * time.Second
	changed := app.CreationTimestamp.Time
	for _, m := range app.ManagedFields {
		if m.Subresource == "" && m.Time != nil && m.Time.After(changed) {
			changed = m.Time.Time
		}
	}
	if gone := app.DeletionTimestamp; gone != nil && gone.After(changed) {
		changed = gone.Time
	}
	return ReadyIn(app).Pending && !changed.IsZero() && now.Sub(changed) > patience
}
