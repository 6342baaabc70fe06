package controller

import (
	"cmp"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// conclusions reports the outcomes of reconciles to users: in metrics, notifications and events. The workers share
// it. Each of its parts is safe for concurrent use.
type conclusions struct {
	registry     *registry
	metrics      *Metrics
	notifier     Notifier
	sharers      *sharers
	objectEvents *objectEvents
	// accountOf returns the ServiceAccount of an Application, which also creates the events on its objects.
	accountOf func(app *v1alpha1.Application) string
}

// Concluded implements reconcile.ApplicationClient.
func (c *conclusions) Concluded(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result) {
	c.observe(app, p, outcomes, result)
	c.sharers.concluded(app, p)
	c.objectEvents.record(app, c.accountOf(app), result.NewHistory)
}

// observe counts the corrections of a plan, updates the state of the Application that the metrics report, and sends
// notifications. The previous state is from this process, or after a restart from the stored status.
func (c *conclusions) observe(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result) {
	now := seenIn(result.Status)
	now.suspended = p.Suspended() && app.DeletionTimestamp == nil
	now.observing = p.IsObserveOnly() && !p.Suspended() && app.DeletionTimestamp == nil
	before, metrics := seenIn(app.Status), c.metrics
	// After a restart, the stored status is the previous state.
	if seen := c.registry.see(app.UID, now); seen.ready != "" {
		before = seen
	}
	metrics.happened(result.NewHistory)
	metrics.contested(before.contestedFields, now.contestedFields)
	notify(c.notifier, app, before, result)
	// The first record of an object determines the client that is counted for it.
	writers := map[manifest.ID]string{}
	for _, h := range result.NewHistory {
		if _, known := writers[h.ID]; !known {
			writers[h.ID] = writer.Class(h.Manager, h.Operation)
		}
	}
	for _, change := range p.Changes {
		outcome := outcomes[change.ID]
		// An update without fields only restored the tracking metadata.
		if outcome.Action == plan.Update && outcome.Object != nil && outcome.Problem == nil && len(change.Fields) > 0 && app.DeletionTimestamp == nil {
			metrics.corrected(change.ID.GroupKind(), cmp.Or(writers[change.ID], "spec"))
		}
	}
}
