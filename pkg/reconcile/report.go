package reconcile

import (
	"context"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// report writes the status if it changed, and emits one event if something was done. It is the only function that
// converts outcomes to a status or an event. outcomes is nil if the plan was not executed. It returns when to
// reconcile again.
//
// If the write fails, the report remains postponed in the State: the next reconciliation decides from it and writes
// it. The event is emitted only after the status is written.
func (r *Reconciler) report(ctx context.Context, app *v1alpha1.Application, m *State, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) (time.Duration, error) {
	now := r.Now()
	return r.reportResult(ctx, app, m, p, outcomes, p.Summarize(outcomes, now), now)
}

// reportResult writes and emits a result: see report.
func (r *Reconciler) reportResult(ctx context.Context, app *v1alpha1.Application, m *State, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result, now time.Time) (time.Duration, error) {
	// The state advances even if the write of the status fails, because the requests have been sent.
	m.plan = result.Memory
	logHistory(ctx, result.NewHistory)
	r.applications().Concluded(app, p, outcomes, result)
	after := MinWait(result.RetryAfter, m.nextProbe(now))
	if result.Again {
		after = time.Millisecond
	}
	if r.Slices == nil || app.DeletionTimestamp != nil {
		m.plan.Older = nil // it cannot be stored, or is no longer needed
	}
	wait, older := m.historyIn(now)
	after = MinWait(after, wait)
	older = older && wait == 0
	// This is the case of an Application at rest: no request.
	if m.postponed == nil && result.Event == nil && !older && statusEqual(app.Status, result.Status) {
		return after, nil
	}
	m.postpone(result, now)
	if delay := delayOf(app.Status, result.Status); delay > 0 {
		wait, done := r.reportIn(app, m.postponed, delay, now)
		if wait > 0 {
			m.postponed.pack()
			return MinWait(after, wait), nil
		}
		// The next report may be written only when this one is.
		defer done()
	}
	written := func() {}
	if older {
		result.Status, written = r.withHistory(ctx, app, m, result.Status)
	}
	if err := r.WriteStatus(ctx, app, result.Status); err != nil {
		return Again(err)
	}
	written()
	event := m.postponed.event
	m.postponed = nil
	r.applications().Announce(app, event)
	return after, nil
}

// Flush writes the postponed report and the older history of an Application that is no longer reconciled. It is
// called after the last reconciliation, when the process stops. It emits no event and does not change the State. It
// writes nothing for an Application that is being deleted.
func (r *Reconciler) Flush(ctx context.Context, app *v1alpha1.Application, m *State) error {
	status := m.PendingStatus()
	if status == nil && len(m.plan.Older) == 0 || app.DeletionTimestamp != nil {
		return nil
	}
	if status == nil {
		status = &app.Status
	}
	last := *status
	if len(m.plan.Older) > 0 && r.Slices != nil {
		last, _ = r.withHistory(ctx, app, m, last)
	}
	return r.WriteStatus(ctx, app, last)
}

// hookFailed reports that a hook prevents the reconciliation of an Application, and returns the error of the hook for
// a retry. If the status cannot be written, it returns that error instead.
func (r *Reconciler) hookFailed(ctx context.Context, app *v1alpha1.Application, m *State, cause error) (time.Duration, error) {
	if _, err := r.reject(ctx, app, m, plan.HookProblem(cause)); err != nil {
		return 0, err
	}
	return 0, cause
}

// reject reports a problem for which an Application cannot be decided. It returns when to reconcile again. The report
// replaces a postponed one, so it includes the contents of that one.
func (r *Reconciler) reject(ctx context.Context, app *v1alpha1.Application, m *State, problem *plan.Problem) (time.Duration, error) {
	return r.report(ctx, app, m, plan.NewInvalid(plan.Input{Application: m.withPendingStatus(app), Memory: &m.plan}, problem), nil)
}

// Several reports of one Application are merged into one. The report of a correction, or of a resource that
// starts or stops to be in progress, waits for reportDelay. A report that changes only messages about
// progress waits for progressDelay, because such a message may count something.
const (
	reportDelay   = 500 * time.Millisecond
	progressDelay = 30 * time.Second
)

// reportIn returns how long a postponed report still waits. While other Applications have changes to process, one
// such report is written at a time, because corrections have priority over reports. If wait is 0, the caller must
// call done when the report is written; otherwise done is nil.
func (r *Reconciler) reportIn(app *v1alpha1.Application, report *pendingReport, delay time.Duration, now time.Time) (wait time.Duration, done func()) {
	if wait := report.since.Add(delay).Sub(now); wait > 0 {
		return wait, nil
	}
	if done = r.applications().Report(app); done == nil {
		return progressDelay, nil // the Application is requeued before that
	}
	return 0, done
}

// delayOf returns how long a status may wait, or 0 if it must be written now. It may wait if it changes only the
// times of corrections, the observed values, the history, and resources in progress. Most resources are in progress
// for a moment after a correction. Everything that must survive a crash is then unchanged. It changes neither
// argument.
func delayOf(before, after v1alpha1.ApplicationStatus) time.Duration {
	if len(before.Resources) != len(after.Resources) {
		return 0
	}
	if !statusEqual(after, before) && statusEqual(withProgressMessages(before, after), before) {
		return progressDelay
	}
	ready := apimeta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	inProgress := ready != nil && v1alpha1.InfoForReason(ready.Reason).Progressing()
	// The fields that may wait are set to their previous values. If the statuses are equal then, nothing else
	// differs.
	after.Resources = slices.Clone(after.Resources)
	for i, was := range before.Resources {
		r := &after.Resources[i]
		r.LastCorrection = was.LastCorrection
		if inProgress {
			r.Health, r.Reason, r.Message, r.Remedy = was.Health, was.Reason, was.Message, was.Remedy
		}
	}
	if inProgress {
		after.Conditions, after.Summary = before.Conditions, before.Summary
	}
	after.LastObservedManifest, after.Reported, after.History = before.LastObservedManifest, before.Reported, before.History
	if statusEqual(before, after) {
		return reportDelay
	}
	return 0
}

// withProgressMessages returns a status with the messages of another status about resources in progress. Both must
// have the same number of resources. It changes neither.
func withProgressMessages(messages, status v1alpha1.ApplicationStatus) v1alpha1.ApplicationStatus {
	status.Resources, status.Conditions = slices.Clone(status.Resources), slices.Clone(status.Conditions)
	for i, r := range status.Resources {
		if v1alpha1.InfoForReason(r.Reason).Progressing() {
			status.Resources[i].Message = messages.Resources[i].Message
		}
	}
	for i, c := range status.Conditions {
		if said := apimeta.FindStatusCondition(messages.Conditions, c.Type); said != nil && v1alpha1.InfoForReason(c.Reason).Progressing() {
			status.Conditions[i].Message = said.Message
		}
	}
	return status
}

// statuses compares statuses: see statusEqual.
var statuses = conversion.EqualitiesOrDie(
	func(a, b runtime.RawExtension) bool { return manifest.SameJSON(a.Raw, b.Raw) },
	func(a, b metav1.Time) bool { return a.Unix() == b.Unix() },
)
