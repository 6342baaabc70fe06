package template

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Verdict is the summary of a custom resource for its conditions.
type Verdict struct {
	// Ready is true if everything is held and healthy in the observed generation.
	Ready bool
	// Stalled is true if only a user can resolve the problem.
	Stalled bool
	// Reason is a CamelCase word, Message a text for users. Both contain no times and counts.
	Reason, Message string
}

// Verdict summarizes the state:
//
//	the resource is being deleted              Deleting
//	it was rejected                            the reason; stalled, unless it can resolve itself
//	no Application yet, or not reconciled yet  Progressing
//	the Application is stalled                 its reason; stalled
//	the Application is ready                   Ready
//	everything else                            the Application's reason
func (s Seen) Verdict() Verdict {
	owner := unstructured.Unstructured{Object: s.Object}
	app := s.Application
	switch {
	case owner.GetDeletionTimestamp() != nil:
		return Verdict{Reason: v1alpha1.ReasonDeleting, Message: "is being deleted"}
	case s.Refusal != nil:
		reason, message := explain(s.Refusal)
		return Verdict{Stalled: v1alpha1.InfoForReason(reason).Disposition != v1alpha1.DispositionWait, Reason: reason, Message: message}
	case app == nil:
		return Verdict{Reason: v1alpha1.ReasonProgressing, Message: "its Application does not exist yet"}
	case app.Status.ObservedGeneration != app.Generation:
		return Verdict{Reason: v1alpha1.ReasonProgressing, Message: fmt.Sprintf("Application %s has changed and is not reconciled yet", app.Name)}
	}
	ready := ofApplication(app, v1alpha1.ConditionReady)
	if stalled := ofApplication(app, v1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
		return Verdict{Stalled: true, Reason: stalled.Reason, Message: stalled.Message}
	}
	if ready.Status == metav1.ConditionTrue {
		return Verdict{Ready: true, Reason: v1alpha1.ReasonReady, Message: "all fields are held, and all resources are healthy"}
	}
	return Verdict{Reason: ready.Reason, Message: fmt.Sprintf("Application %s: %s", app.Name, ready.Message)}
}

// ofApplication returns a condition of an Application. A missing condition is Unknown.
func ofApplication(app *v1alpha1.Application, kind string) metav1.Condition {
	if condition := apimeta.FindStatusCondition(app.Status.Conditions, kind); condition != nil {
		return *condition
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing}
}
