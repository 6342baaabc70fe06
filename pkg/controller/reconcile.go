package controller

import (
	"context"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/turn"
)

// reconcile takes one turn of an Application. It returns when to do so again, 0 for
// when something changes.
func (c *Controller) reconcile(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	app, err := c.application(key)
	if err != nil {
		return 0, err
	}
	if app == nil {
		return c.turns.Collect(ctx, key, nil)
	}
	m, news := c.memoryOf(app)
	after, err := c.turns.Reconcile(ctx, app, m.turns, news)
	if err != nil {
		return 0, err
	}
	if hook := app.Spec.Hooks; hook == nil || hook.Complete == nil { // nothing is decoded again for most
		return after, nil
	}
	return after, c.finishCompleted(ctx, key)
}

// memoryOf returns the memory of an Application, and what has happened since this was last
// asked.
func (c *Controller) memoryOf(app *v1alpha1.Application) (m *memory, news turn.News) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m = c.memories[app.UID]
	if m == nil {
		m = &memory{turns: turn.NewMemory(app, c.options.Now())}
		c.memories[app.UID] = m
	}
	m.interval = 0
	if app.Spec.Interval != nil {
		m.interval = app.Spec.Interval.Duration
	}
	_, news.Changed = c.changed[app.UID]
	c.taken(app.UID)
	_, news.Namespace = c.arrived[app.UID]
	delete(c.arrived, app.UID)
	_, news.Orphan = c.orphans[app.UID]
	c.names[app.UID] = keyOf(app)
	return m, news
}

// finishCompleted deletes an Application whose workload has said that its work is
// done, if that is what it wants and it does not only observe, once its status says so, too: there has been an
// event then.
func (c *Controller) finishCompleted(ctx context.Context, key types.NamespacedName) error {
	app, err := c.application(key)
	if app == nil || app.DeletionTimestamp != nil || app.Spec.Mode == v1alpha1.ModeObserve {
		return err
	}
	hook := app.Spec.Hooks
	if hook == nil || hook.Complete == nil || hook.Complete.Action == v1alpha1.CompleteKeep {
		return nil
	}
	_, said := app.Annotations[v1alpha1.AnnotationCompleted]
	if !said || !apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionCompleted) {
		return nil
	}
	return c.client.DeleteApplication(ctx, app)
}
