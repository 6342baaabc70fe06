package controller

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// report writes the status, if it changed, and one event, if something was
// done. It is the only place that turns outcomes into either.
func (c *Controller) report(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) (time.Duration, error) {
	m, now := c.memoryOf(app), c.options.Now()
	result := p.Conclude(outcomes, now)
	m.plan = result.Memory
	c.observe(app, m, p, outcomes, result.Status)
	after := result.RetryAfter
	if probe := m.nextProbe(now); probe > 0 {
		after = sooner(after, probe)
	}
	if result.Again {
		after = time.Millisecond
	}
	if m.postponed == nil && result.Event == nil && same(app.Status, result.Status) {
		return after, nil
	}
	m.postpone(result, now)
	if routine(app.Status, result.Status) {
		wait, done := c.reportIn(m.postponed, now)
		if wait > 0 {
			return sooner(after, wait), nil
		}
		defer done()
	}
	if err := c.writeStatus(ctx, app, result.Status); err != nil {
		return again(err)
	}
	event := m.postponed.event
	m.postponed = nil
	c.announce(app, event)
	return after, nil
}

// sooner is the smaller of two waits, where 0 is no wait at all.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}

// reportDelay is how long the report of a correction waits: several of one
// Application become one report.
const reportDelay = 500 * time.Millisecond

// postponed is a report that is not written yet.
type postponed struct {
	status v1alpha1.ApplicationStatus
	event  *plan.Event
	since  time.Time
}

// reportIn is how long a postponed report still waits. While other Applications have
// news there is one such report at a time: corrections come before reports. done is to
// be called when a report that waits no longer is written.
func (c *Controller) reportIn(report *postponed, now time.Time) (wait time.Duration, done func()) {
	if wait := report.since.Add(reportDelay).Sub(now); wait > 0 {
		return wait, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.changed) > 0 && c.reporting > 0 {
		return reportDelay / 4, nil
	}
	c.reporting++
	return 0, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reporting--
	}
}

// postpone adds a result to the report that is not written yet.
func (m *memory) postpone(result plan.Result, now time.Time) {
	if m.postponed == nil {
		m.postponed = &postponed{since: now}
	}
	m.postponed.status = result.Status
	m.postponed.event = m.postponed.event.And(result.Event)
}

// flush writes the reports that are still postponed when the workers have ended.
// What does not get through in time costs nothing but the time of a correction.
func (c *Controller) flush() {
	//nolint:forbidigo // the context of the work has ended already
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.mu.Lock()
	memories, names := maps.Clone(c.memories), maps.Clone(c.names)
	c.mu.Unlock()
	for uid, m := range memories {
		if m.postponed == nil || ctx.Err() != nil {
			continue
		}
		if app, err := c.application(names[uid]); err == nil && app != nil && app.UID == uid {
			_ = c.writeStatus(ctx, app, m.postponed.status)
		}
	}
}

// routine tells whether a status says nothing new but when something was last
// corrected, what was seen, and that resources are in progress, as they are for
// a moment after most corrections. All that must survive a crash is the same.
func routine(before, after v1alpha1.ApplicationStatus) bool {
	if len(before.Resources) != len(after.Resources) {
		return false
	}
	ready := apimeta.FindStatusCondition(after.Conditions, v1alpha1.ConditionReady)
	inProgress := ready != nil && ready.Reason == v1alpha1.ReasonProgressing
	after.Resources = slices.Clone(after.Resources)
	for i, was := range before.Resources {
		r := &after.Resources[i]
		r.LastCorrection = was.LastCorrection
		if inProgress {
			r.Health, r.Reason, r.Message = was.Health, was.Reason, was.Message
		}
	}
	if inProgress {
		after.Conditions, after.Summary = before.Conditions, before.Summary
	}
	after.LastObservedManifest = before.LastObservedManifest
	return same(before, after)
}

// writeStatus replaces the status unless it is the same. If somebody has written
// the Application meanwhile, but not its status, the status still holds: it says
// which generation it is about.
func (c *Controller) writeStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	if same(app.Status, status) {
		return nil
	}
	written, err := c.client.WriteStatus(ctx, app, status)
	if apierrors.IsConflict(err) {
		fresh, readErr := c.client.GetApplication(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
		if readErr != nil {
			return readErr
		}
		if fresh.UID != app.UID || !same(app.Status, fresh.Status) {
			return err
		}
		written, err = c.client.WriteStatus(ctx, fresh, status)
		// The store will know what somebody wrote from this answer, and take the
		// watch's word for old: nobody else will have it looked at.
		c.ObjectChanged(app.UID)
	}
	if err != nil {
		return err
	}
	return c.wroteApplication(written)
}

// wroteApplication has the store know our own write before the watch does, so
// that it starts nothing.
func (c *Controller) wroteApplication(app *v1alpha1.Application) error {
	raw, err := json.Marshal(app)
	if err != nil {
		return err
	}
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	c.applications.Wrote(content)
	return nil
}

// same compares statuses as JSON values, whatever the order of keys in their raw
// parts.
func same(a, b v1alpha1.ApplicationStatus) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		return false
	}
	var v, w any
	return json.Unmarshal(x, &v) == nil && json.Unmarshal(y, &w) == nil && reflect.DeepEqual(v, w)
}
