package reconcile

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/slice"
)

// applications returns the client for complete Applications, which joins and splits slices.
func (r *Reconciler) applications() ApplicationClient {
	if r.Slices == nil {
		return r.Applications
	}
	return sliceClient{r.Applications, sliceStore{r.Slices}, cmp.Or(r.MaxBytes, v1alpha1.MaxApplicationBytes)}
}

// sliceClient is a client for complete Applications. It stores the parts that are too large for an Application in
// slices. The other methods of ApplicationClient need no slices and are embedded.
type sliceClient struct {
	ApplicationClient

	slices sliceStore
	// maxBytes is the size of an Application above which its record is split.
	maxBytes int
}

// Latest returns the latest version, joined with its slices. It returns the given Application if that version cannot
// be joined.
func (h sliceClient) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	whole, err := h.slices.join(context.Background(), h.ApplicationClient.Latest(app)) //nolint:forbidigo // what it names we wrote, or have read
	if err != nil {
		return app
	}
	return whole
}

// Read returns the version in the API server, joined with its slices. The error is a *plan.Problem if a slice is
// missing.
func (h sliceClient) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	read, err := h.ApplicationClient.Read(ctx, app)
	if err != nil {
		return nil, err
	}
	return h.slices.join(ctx, read)
}

// WriteMetadata returns the written version with the joined parts of app, because the response of the API server
// names only the slices.
func (h sliceClient) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	written, err := h.ApplicationClient.WriteMetadata(ctx, app, finalizers, annotations)
	if err == nil { // the rest is unchanged in that version
		written.Spec, written.Status, written.RecordedIn = app.Spec, app.Status, app.RecordedIn
	}
	return written, err
}

// WriteStatus writes the slices of a status before the status, and then deletes the slices of the previous status. So
// a status never names a missing slice, and a crash leaves only a slice that is not named. A slice has the name of
// its content, so an unchanged slice is not written again. A status that could not be joined still names slices, and
// is written unchanged.
func (h sliceClient) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	if len(status.RecordSlices) > 0 {
		return h.ApplicationClient.WriteStatus(ctx, app, status)
	}
	named := slices.Concat(app.RecordedIn, app.Status.RecordSlices, app.Status.HistorySlices)
	// stored is the status for the API server, which names parts instead of containing them.
	stored, parts, err := slice.SplitStatus(app, status, h.maxBytes)
	if err != nil {
		return err
	}
	if err := h.slices.createAll(ctx, parts, named); err != nil {
		return err
	}
	if err := h.ApplicationClient.WriteStatus(ctx, app, stored); err != nil {
		return err
	}
	named = slices.DeleteFunc(named, func(name string) bool {
		return slices.Contains(stored.RecordSlices, name) || slices.Contains(stored.HistorySlices, name)
	})
	// The stored status no longer names them.
	h.slices.drop(ctx, app, named)
	return nil
}

// Forget also deletes the slices of an Application when it is gone.
func (h sliceClient) Forget(app *v1alpha1.Application) error {
	named := slice.Names(h.ApplicationClient.Latest(app))
	if err := h.ApplicationClient.Forget(app); err != nil || len(app.Finalizers) > 0 {
		return err
	}
	h.slices.drop(context.Background(), app, named) //nolint:forbidigo // the Application is gone, whatever ends meanwhile
	return nil
}

// WriteStatus replaces the status unless it is unchanged. If another client has changed the Application but not its
// status, the new status is still valid, because it names the generation that it describes. So WriteStatus repeats a
// conflicting write once, if the status and the UID have not changed. Otherwise it returns the conflict.
func (r *Reconciler) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	if statusEqual(app.Status, status) {
		return nil
	}
	err := r.applications().WriteStatus(ctx, app, status)
	if !apierrors.IsConflict(err) {
		return err
	}
	fresh, readErr := r.applications().Read(ctx, app)
	if readErr != nil {
		return readErr
	}
	if fresh.UID != app.UID || !statusEqual(app.Status, fresh.Status) {
		return err
	}
	err = r.applications().WriteStatus(ctx, fresh, status)
	// The response adds the other client's write to the store, which then drops the watch event as outdated.
	// So only this call requeues the Application.
	r.applications().Again(app)
	return err
}

// statusEqual compares statuses as the API server stores them: raw parts as JSON values with any order of
// keys, and times in seconds. It is called three times for each report, mostly for different statuses, so it
// encodes nothing.
func statusEqual(a, b v1alpha1.ApplicationStatus) bool { return statuses.DeepEqual(a, b) }
