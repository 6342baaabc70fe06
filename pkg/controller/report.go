package controller

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// report writes the status, if it changed, and one event, if something was
// done. It is the only place that turns outcomes into either.
func (c *Controller) report(ctx context.Context, app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome) (time.Duration, error) {
	result := p.Conclude(outcomes, c.options.Now())
	if err := c.writeStatus(ctx, app, result.Status); err != nil {
		return again(err)
	}
	c.announce(app, result)
	if result.Again {
		return time.Millisecond, nil
	}
	return result.RetryAfter, nil
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
