package template

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Verdict says whether a custom resource is what it asks for.
type Verdict struct {
	// Ready: everything is held and healthy, in the generation that was seen.
	Ready bool
	// Stalled: only a user can help.
	Stalled bool
	// Reason in one word and Message for people. Neither has a time or a count.
	Reason, Message string
}

// Verdict judges what was seen:
//
//	the resource is being deleted          Deleting
//	it was refused                         the refusal; stalled, unless it passes
//	no Application yet, or not seen yet    Progressing
//	the Application is stalled             its reason; stalled
//	the Application is ready               Ready
//	everything else                        the Application's reason
func (s Seen) Verdict() Verdict {
	owner := unstructured.Unstructured{Object: s.Object}
	app := s.Application
	switch {
	case owner.GetDeletionTimestamp() != nil:
		return Verdict{Reason: v1alpha1.ReasonDeleting, Message: "is being deleted"}
	case s.Refusal != nil:
		reason, message := explain(s.Refusal)
		return Verdict{Stalled: v1alpha1.MeaningOf(reason).Disposition != v1alpha1.DispositionWait, Reason: reason, Message: message}
	case app == nil:
		return Verdict{Reason: v1alpha1.ReasonProgressing, Message: "its Application does not exist yet"}
	case app.Status.ObservedGeneration != app.Generation:
		return Verdict{Reason: v1alpha1.ReasonProgressing, Message: fmt.Sprintf("Application %s has changed and is not handled yet", app.Name)}
	}
	ready := ofApplication(app, v1alpha1.ConditionReady)
	if stalled := ofApplication(app, v1alpha1.ConditionStalled); stalled.Status == metav1.ConditionTrue {
		return Verdict{Stalled: true, Reason: stalled.Reason, Message: stalled.Message}
	}
	if ready.Status == metav1.ConditionTrue {
		return Verdict{Ready: true, Reason: v1alpha1.ReasonReady, Message: "everything is held and healthy"}
	}
	return Verdict{Reason: ready.Reason, Message: fmt.Sprintf("Application %s: %s", app.Name, ready.Message)}
}

func ofApplication(app *v1alpha1.Application, kind string) metav1.Condition {
	if condition := apimeta.FindStatusCondition(app.Status.Conditions, kind); condition != nil {
		return *condition
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing}
}
