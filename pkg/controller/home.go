package controller

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/template"
	"holdfast.dev/holdfast/pkg/turn"
)

// home is the API server that has the Applications, as turns use it: it implements
// turn.Home.
type home struct{ *Controller }

func (h home) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	latest, err := h.application(keyOf(app))
	if err != nil || latest == nil || (app.UID != "" && latest.UID != app.UID) {
		return app
	}
	return latest
}

func (h home) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	return h.client.GetApplication(ctx, keyOf(app))
}

func (h home) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	written, err := h.client.WriteMetadata(ctx, app, finalizers, annotations)
	if err != nil {
		return nil, err
	}
	return written, h.wroteApplication(written)
}

func (h home) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) (*v1alpha1.Application, error) {
	written, err := h.client.WriteStatus(ctx, app, status)
	if err != nil {
		return nil, err
	}
	return written, h.wroteApplication(written)
}

func (h home) Again(app *v1alpha1.Application) { h.ObjectChanged(app.UID) }

// LetGo has the store know, before the watch does, that the Application is gone
// or that only finalizers of others hold it: what the watches still have to say about
// its objects is of no interest.
func (h home) LetGo(app *v1alpha1.Application) error {
	h.forget(app.UID)
	if len(app.Finalizers) == 0 {
		h.applications.Deleted(keyOf(app), app.UID)
	}
	return nil
}

func (h home) Announce(app *v1alpha1.Application, event *plan.Event) { h.announce(app, event) }

func (h home) Concluded(app *v1alpha1.Application, p *plan.Plan, outcomes map[manifest.ID]plan.Outcome, result plan.Result) {
	h.observe(app, p, outcomes, result)
	h.sharers.concluded(app, p)
	h.objectEvents.record(app, h.accountOf(app), result.NewHistory)
}

func (h home) Report(app *v1alpha1.Application) (done func()) { return h.mayReport(keyOf(app)) }

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

// flushTime bounds flush.
const flushTime = 5 * time.Second

// flush writes the reports of Applications that are still postponed when no turn of them is
// taken any more. What does not get through in time costs nothing but the time of a
// correction.
func (c *Controller) flush(ctx context.Context, memories map[types.UID]*memory) {
	c.mu.Lock()
	names := maps.Clone(c.names)
	c.mu.Unlock()
	for uid, m := range memories {
		if ctx.Err() != nil {
			return
		}
		if m == nil {
			continue
		}
		if app, err := c.application(names[uid]); err == nil && app != nil && app.UID == uid {
			_ = c.turns.Flush(ctx, app, m.turns)
		}
	}
}

// templateHome is the controller as the templates use it.
type templateHome struct{ *Controller }

func (h templateHome) Application(key types.NamespacedName) (*v1alpha1.Application, error) {
	return h.application(key)
}

// Live leaves out what nothing is held of, because its kind is not served or watchable.
func (h templateHome) Live(ctx context.Context, app *v1alpha1.Application) (live template.Live, ready bool) {
	live = template.Live{}
	view := h.viewOf(app)
	for _, gvk := range turn.KindsOf(app) {
		mapping, err := view.Mapping(ctx, gvk)
		if err != nil || !mapping.Watchable {
			continue
		}
		marked, err := view.Marked(ctx, gvk.GroupKind(), mapping)
		if err != nil {
			return nil, false
		}
		maps.Copy(live, marked)
	}
	return live, true
}

func (h templateHome) Wrote(app *v1alpha1.Application) error {
	if err := h.wroteApplication(app); err != nil {
		return err
	}
	h.queue.Add(keyOf(app))
	return nil
}

func (h templateHome) Announce(object map[string]any, event *plan.Event) {
	h.sendEvent(&unstructured.Unstructured{Object: object}, event)
}

func (h templateHome) Mine(key types.NamespacedName) bool { return h.slots.isAssigned(key) }

func (h templateHome) Selected() cluster.Selection { return h.selected() }
