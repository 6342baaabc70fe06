package controller

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// Kinds of notifications.
const (
	noteCorrected = "dev.holdfast.corrected"
	noteContested = "dev.holdfast.contested"
	noteReleased  = "dev.holdfast.released"
	noteDrifted   = "dev.holdfast.drifted"
	noteNotReady  = "dev.holdfast.notready"
	noteReady     = "dev.holdfast.ready"
)

// Notifier sends notifications to another system. Workers call Send concurrently; it must not block. data is a JSON
// value without secrets. source identifies the Application, subject the object or the condition.
type Notifier interface {
	Send(kind, source, subject string, data any)
}

// conditionNote is the data of a notification about a condition of an Application.
type conditionNote struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// notify sends a notification for each correction, contest and release in a result, and for each change of a
// condition. before is the previous state. It sends nothing if to is nil, or while the Application is being deleted.
func notify(to Notifier, app *v1alpha1.Application, before metricsState, result plan.Result) {
	if to == nil || app.DeletionTimestamp != nil {
		return
	}
	source := "/applications/" + app.Namespace + "/" + app.Name
	for _, h := range result.NewHistory {
		kind := noteCorrected
		switch h.Outcome {
		case v1alpha1.OutcomeContested:
			kind = noteContested
		case v1alpha1.OutcomeReleased:
			kind = noteReleased
		case v1alpha1.OutcomeCorrected, v1alpha1.OutcomeAccepted, v1alpha1.OutcomeRestored:
		default:
			continue
		}
		to.Send(kind, source, h.ID.String(), h.HistoryEntry)
	}
	tell := func(kind, condition string) {
		if found := apimeta.FindStatusCondition(result.Status.Conditions, condition); found != nil {
			to.Send(kind, source, condition, conditionNote{found.Reason, found.Message})
		}
	}
	now := seenIn(result.Status)
	if now.drifted && !before.drifted { // and the drift was not corrected in this reconcile
		tell(noteDrifted, v1alpha1.ConditionHeld)
	}
	switch {
	case before.ready == metav1.ConditionTrue && now.ready != metav1.ConditionTrue:
		tell(noteNotReady, v1alpha1.ConditionReady)
	case before.ready != metav1.ConditionTrue && now.ready == metav1.ConditionTrue:
		tell(noteReady, v1alpha1.ConditionReady)
	}
}

// seenIn returns the state that the metrics report for a status. The caller sets suspended and observing, which a
// status does not have.
func seenIn(status v1alpha1.ApplicationStatus) metricsState {
	s := metricsState{ready: metav1.ConditionUnknown, contestedFields: status.Contested}
	if ready := apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); ready != nil {
		s.ready = ready.Status
	}
	s.stalled = apimeta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled)
	s.drifted = apimeta.IsStatusConditionFalse(status.Conditions, v1alpha1.ConditionHeld)
	return s
}
