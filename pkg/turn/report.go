package turn

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// report writes the status, if it changed, and one event, if something was
// done. It is the only place that turns outcomes into either.
func (t *Reconciler) report(ctx context.Context, app *v1alpha1.Application, m *State, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) (time.Duration, error) {
	now := t.now()
	result := p.Summarize(outcomes, now)
	m.plan = result.Memory
	logHistory(ctx, result.NewHistory)
	t.home().Concluded(app, p, outcomes, result)
	after := result.RetryAfter
	if probe := m.nextProbe(now); probe > 0 {
		after = MinWait(after, probe)
	}
	if result.Again {
		after = time.Millisecond
	}
	if t.Slices == nil || app.DeletionTimestamp != nil {
		m.plan.Older = nil // nobody can keep it, or asks
	}
	wait, older := m.historyIn(now)
	after = MinWait(after, wait)
	older = older && wait == 0
	if m.postponed == nil && result.Event == nil && !older && statusEqual(app.Status, result.Status) {
		return after, nil
	}
	m.postpone(result, now)
	if delay := delayOf(app.Status, result.Status); delay > 0 {
		wait, done := t.reportIn(app, m.postponed, delay, now)
		if wait > 0 {
			m.postponed.pack()
			return MinWait(after, wait), nil
		}
		defer done()
	}
	written := func() {}
	if older {
		result.Status, written = t.withHistory(ctx, app, m, result.Status)
	}
	if err := t.WriteStatus(ctx, app, result.Status); err != nil {
		return Again(err)
	}
	written()
	event := m.postponed.event
	m.postponed = nil
	t.home().Announce(app, event)
	return after, nil
}

// Flush writes what still waits of an Application that has no turn any more: its report, and
// the older history.
func (t *Reconciler) Flush(ctx context.Context, app *v1alpha1.Application, m *State) error {
	status := m.PendingStatus()
	if status == nil && len(m.plan.Older) == 0 || app.DeletionTimestamp != nil {
		return nil
	}
	if status == nil {
		status = &app.Status
	}
	last := *status
	if len(m.plan.Older) > 0 && t.Slices != nil {
		last, _ = t.withHistory(ctx, app, m, last)
	}
	return t.WriteStatus(ctx, app, last)
}

// hookFailed reports that a hook keeps an Application from being handled, and has
// it tried again.
func (t *Reconciler) hookFailed(ctx context.Context, app *v1alpha1.Application, m *State, cause error) (time.Duration, error) {
	p := plan.NewInvalid(plan.Input{Application: app, Memory: &m.plan}, plan.HookProblem(cause))
	if _, err := t.report(ctx, app, m, p, nil); err != nil {
		return 0, err
	}
	return 0, cause
}

// Several reports of one Application become one: that of a correction, and of a resource
// that begins to be in progress or ends to be, waits for reportDelay, and that of nothing
// but how far the progress is, which may count something, for progressDelay.
const (
	reportDelay   = 500 * time.Millisecond
	progressDelay = 30 * time.Second
)

// reportIn is how long a postponed report still waits. While other Applications have
// news there is one such report at a time: corrections come before reports. done is to
// be called when a report that waits no longer is written.
func (t *Reconciler) reportIn(app *v1alpha1.Application, report *pendingReport, delay time.Duration, now time.Time) (wait time.Duration, done func()) {
	if wait := report.since.Add(delay).Sub(now); wait > 0 {
		return wait, nil
	}
	if done = t.home().Report(app); done == nil {
		return progressDelay, nil // there is a turn for it before that
	}
	return 0, done
}

// delayOf is for how long a status may wait. One that says nothing new but when something
// was last corrected, what was seen, what has happened, and that resources are in progress, as they are for a
// moment after most corrections, may: all that must survive a crash is the same.
func delayOf(before, after v1alpha1.ApplicationStatus) time.Duration {
	if len(before.Resources) != len(after.Resources) {
		return 0
	}
	if !statusEqual(after, before) && statusEqual(withProgressMessages(before, after), before) {
		return progressDelay
	}
	ready := apimeta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	inProgress := ready != nil && v1alpha1.InfoForReason(ready.Reason).Progressing()
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
	after.LastObservedManifest, after.Watched, after.History = before.LastObservedManifest, before.Watched, before.History
	if statusEqual(before, after) {
		return reportDelay
	}
	return 0
}

// withProgressMessages is a status with the messages of another one about resources in progress.
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

// WriteStatus replaces the status unless it is the same. If another client has written
// the Application meanwhile, but not its status, the status still holds: it says
// which generation it is about.
func (t *Reconciler) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	if statusEqual(app.Status, status) {
		return nil
	}
	_, err := t.home().WriteStatus(ctx, app, status)
	if !apierrors.IsConflict(err) {
		return err
	}
	fresh, readErr := t.home().Read(ctx, app)
	if readErr != nil {
		return readErr
	}
	if fresh.UID != app.UID || !statusEqual(app.Status, fresh.Status) {
		return err
	}
	_, err = t.home().WriteStatus(ctx, fresh, status)
	// The store will know what another client wrote from this answer, and take the
	// watch's word for old: nobody else will have it looked at.
	t.home().Again(app)
	return err
}

// statusEqual compares statuses as the API server keeps them: raw parts as JSON values, whatever
// the order of their keys, times by the second. It is asked three times for each report, of
// statuses that differ: nothing is encoded for it.
func statusEqual(a, b v1alpha1.ApplicationStatus) bool { return statuses.DeepEqual(a, b) }

var statuses = conversion.EqualitiesOrDie(
	func(a, b runtime.RawExtension) bool { return manifest.SameJSON(a.Raw, b.Raw) },
	func(a, b metav1.Time) bool { return a.Unix() == b.Unix() },
)
