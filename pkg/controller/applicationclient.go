package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
)

// applicationClient is a client of the API server for the Applications, with a store of them.
type applicationClient struct {
	client *cluster.Client
	store  *cluster.ApplicationStore
	// onWritten is called after each write, without a lock. The watch will not report the write.
	onWritten func()
}

// application returns an Application from the store, or nil if it does not exist. It decodes the Application each
// time, so the caller owns the result. Slices are not joined.
func (a *applicationClient) application(key types.NamespacedName) (*v1alpha1.Application, error) {
	object := a.store.Get(key)
	if object == nil {
		return nil, nil
	}
	return cluster.DecodeApplication(object.JSON())
}

// Latest implements reconcile.ApplicationClient, as do Read, WriteMetadata and WriteStatus.
func (a *applicationClient) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	latest, err := a.application(store.Key(app))
	if err != nil || latest == nil || (app.UID != "" && latest.UID != app.UID) {
		return app
	}
	return latest
}

// Read does not add the result to the store, because the watch delivers it.
func (a *applicationClient) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	return a.client.GetApplication(ctx, store.Key(app))
}

// WriteMetadata returns the written Application, which is in the store by then.
func (a *applicationClient) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	raw, err := a.client.WriteMetadata(ctx, app, finalizers, annotations)
	if err != nil {
		return nil, err
	}
	written, err := cluster.DecodeApplication(raw)
	if err != nil {
		return nil, err
	}
	return written, a.wrote(raw)
}

// WriteStatus adds the written Application to the store.
func (a *applicationClient) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	raw, err := a.client.WriteStatus(ctx, app, status)
	if err != nil {
		return err
	}
	return a.wrote(raw)
}

// wrote adds the JSON of a written Application to the store before the watch delivers it. So the watch event starts
// no reconcile, and an earlier reconcile does not write the same again. The store keeps the newer of both, so their
// order has no effect.
func (a *applicationClient) wrote(raw []byte) error {
	content, err := manifest.DecodeJSON(raw)
	if err != nil {
		return err
	}
	a.store.Wrote(content)
	a.onWritten()
	return nil
}

// reconcilerClient implements reconcile.ApplicationClient.
type reconcilerClient struct {
	*applicationClient
	*conclusions

	registry *registry
	events   *eventSender
	// forget drops all state of an Application.
	forget func(types.UID)
}

// Again queues the Application as if one of its objects had changed.
func (h reconcilerClient) Again(app *v1alpha1.Application) { h.registry.ObjectChanged(app.UID) }

// Forget drops the state of an Application without Holdfast's finalizer, because later events of its objects
// do not matter. If no other finalizer remains, it also removes the Application from the store, before the
// watch does.
func (h reconcilerClient) Forget(app *v1alpha1.Application) error {
	h.forget(app.UID)
	if len(app.Finalizers) == 0 {
		h.store.Deleted(store.Key(app), app.UID)
	}
	return nil
}

func (h reconcilerClient) Announce(app *v1alpha1.Application, event *plan.Event) {
	h.events.announce(app, event)
}

// Report implements reconcile.ApplicationClient: see registry.mayReport.
func (h reconcilerClient) Report(app *v1alpha1.Application) (done func()) {
	return h.registry.mayReport(store.Key(app))
}

// flushTime limits flush.
const flushTime = 5 * time.Second

// flush writes the reports that are still postponed after the last reconcile of their Applications. If a report is
// not written in time, only the time of a correction is lost. It uses the states without a lock, so no Application may
// be reconciled at the same time.
func (c *Controller) flush(ctx context.Context) {
	for uid, m := range c.registry.remembered() {
		if ctx.Err() != nil {
			return
		}
		key, known := c.registry.key(uid)
		if !known {
			continue
		}
		if app, err := c.applications.application(key); err == nil && app != nil && app.UID == uid {
			_ = c.reconciler.Flush(ctx, app, m.state)
		}
	}
}
