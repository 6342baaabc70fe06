package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/slice"
)

// What is too large for one object is in slices. All of this package but this file knows
// nothing of them: it reads Applications that are whole, and writes statuses that are.
//
//	what is written                     before                 so that
//	a slice                             what names it          nobody names what is not there
//	a status that names other slices    the old are deleted    nothing that is named goes
//	the Application's end               its slices' end        its record is there to the last
//
// Who dies in between leaves a slice that nobody names: it is collected.

// Slices are those of the API server that has the Applications.
type Slices interface {
	// Of are those of an Application, as the watch or our own writes have shown them.
	Of(application types.NamespacedName) []Slice
	// Read is the data of a slice, as the watch shows it, or else the API server.
	Read(ctx context.Context, at types.NamespacedName) ([]byte, error)
	// Create creates one. If it is there already, it is noted on it that it is about to be
	// named; it is a conflict if it is being deleted.
	Create(ctx context.Context, s *v1alpha1.ApplicationSlice) error
	// Delete deletes one, if it is still this version, and takes our finalizer off it.
	// What is gone already is no error.
	Delete(ctx context.Context, s Slice) error
}

// Slice is what is known of one.
type Slice struct {
	types.NamespacedName

	UID             types.UID
	ResourceVersion string
	// Deleting is true after a client has deleted it: our finalizer may hold it.
	Deleting bool
	// Since is when this process first saw this version of it.
	Since time.Time
}

// SliceGrace is how long a slice may be there that nobody has named yet: who writes it
// first may be about to write the Application.
const SliceGrace = 10 * time.Minute

// home is the Home whose Applications are whole.
func (t *Reconciler) home() ApplicationClient {
	if t.Slices == nil {
		return t.Home
	}
	return wholeHome{t.Home, t}
}

// join puts an Application together. It is joined as far as could be done; the error is a
// *plan.Problem if that is not far enough to go on.
func (t *Reconciler) join(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	if t.Slices == nil {
		return app, nil
	}
	whole, err := slice.Join(app, t.getSlice(ctx, app.Namespace))
	var unavailable *slice.Unavailable
	switch {
	case err == nil, app.DeletionTimestamp != nil && len(whole.Status.RecordSlices) == 0:
		return whole, nil // what is on record is enough to delete it
	case errors.As(err, &unavailable):
		return whole, plan.SliceProblem(whole, unavailable)
	default:
		return whole, err
	}
}

// getSlice reads slices of a namespace.
func (t *Reconciler) getSlice(ctx context.Context, namespace string) slice.Get {
	return func(name string) ([]byte, error) {
		data, err := t.Slices.Read(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		if apierrors.IsNotFound(err) {
			return nil, &slice.Unavailable{Name: name}
		}
		return data, err
	}
}

// wholeHome keeps in slices what is too large for an Application.
type wholeHome struct {
	ApplicationClient

	t *Reconciler
}

// Latest is the given Application if that can be had no later.
func (h wholeHome) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	whole, err := h.t.join(context.Background(), h.ApplicationClient.Latest(app)) //nolint:forbidigo // what it names we wrote, or have read
	if err != nil {
		return app
	}
	return whole
}

func (h wholeHome) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	read, err := h.ApplicationClient.Read(ctx, app)
	if err != nil {
		return nil, err
	}
	return h.t.join(ctx, read)
}

func (h wholeHome) WriteMetadata(ctx context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	written, err := h.ApplicationClient.WriteMetadata(ctx, app, finalizers, annotations)
	if err == nil { // all else is what it was in that version
		written.Spec, written.Status, written.RecordedIn = app.Spec, app.Status, app.RecordedIn
	}
	return written, err
}

// WriteStatus writes the slices of a status before it, and deletes those of the one
// before it. One that could not be joined has slices still, and is written as it is.
func (h wholeHome) WriteStatus(ctx context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) (*v1alpha1.Application, error) {
	if len(status.RecordSlices) > 0 {
		return h.ApplicationClient.WriteStatus(ctx, app, status)
	}
	named := slices.Concat(app.RecordedIn, app.Status.RecordSlices, app.Status.HistorySlices)
	stored, parts, err := slice.SplitStatus(app, status, cmp.Or(h.t.MaxBytes, v1alpha1.MaxApplicationBytes))
	if err != nil {
		return nil, err
	}
	for i := range parts {
		if slices.Contains(named, parts[i].Name) {
			continue
		}
		if err := h.t.Slices.Create(ctx, &parts[i]); err != nil {
			return nil, err
		}
	}
	written, err := h.ApplicationClient.WriteStatus(ctx, app, stored)
	if err != nil {
		return nil, err
	}
	written.Spec, written.Status, written.RecordedIn = app.Spec, status, stored.RecordSlices
	named = slices.DeleteFunc(named, func(name string) bool {
		return slices.Contains(stored.RecordSlices, name) || slices.Contains(stored.HistorySlices, name)
	})
	for _, s := range h.t.Slices.Of(nameOf(app)) {
		if slices.Contains(named, s.Name) {
			h.t.drop(ctx, s)
		}
	}
	return written, nil
}

// LetGo deletes the slices of an Application, too, once it is gone.
func (h wholeHome) LetGo(app *v1alpha1.Application) error {
	named := slice.Names(h.ApplicationClient.Latest(app))
	if err := h.ApplicationClient.LetGo(app); err != nil || len(app.Finalizers) > 0 {
		return err
	}
	for _, s := range h.t.Slices.Of(nameOf(app)) {
		if slices.Contains(named, s.Name) {
			h.t.drop(context.Background(), s) //nolint:forbidigo // the Application is gone, whatever ends meanwhile
		}
	}
	return nil
}

// drop deletes a slice. What goes wrong is left to Collect.
func (t *Reconciler) drop(ctx context.Context, s Slice) {
	if err := t.Slices.Delete(ctx, s); err != nil {
		klog.FromContext(ctx).V(1).Info("A slice is left for later", "slice", s.NamespacedName, "reason", err.Error())
	}
}

// Collect deletes the slices of an Application that it does not name, or that is not
// there. m is nil for one that is not. It returns when to do so again, 0 for when
// something changes. Without such slices it asks nobody anything.
func (t *Reconciler) Collect(ctx context.Context, application types.NamespacedName, m *State) (time.Duration, error) {
	if t.Slices == nil {
		return 0, nil
	}
	seen := t.Slices.Of(application)
	if len(seen) == 0 {
		return 0, nil
	}
	var formerly []string
	identity := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: application.Namespace, Name: application.Name}}
	named := slice.Names(t.Home.Latest(identity))
	if m != nil {
		formerly = slices.DeleteFunc(m.slices, func(name string) bool {
			return !slices.ContainsFunc(seen, func(s Slice) bool { return s.Name == name })
		})
		m.slices = slices.Concat(named, slices.DeleteFunc(slices.Clone(formerly), func(name string) bool { return slices.Contains(named, name) }))
	}
	seen = slices.DeleteFunc(seen, func(s Slice) bool { return slices.Contains(named, s.Name) })
	var after time.Duration
	seen = slices.DeleteFunc(seen, func(s Slice) bool {
		left := s.Since.Add(SliceGrace).Sub(t.now())
		if s.Deleting || left <= 0 || slices.Contains(formerly, s.Name) {
			return false
		}
		after = MinWait(after, left)
		return true
	})
	if len(seen) == 0 {
		return after, nil
	}
	stored, err := t.Home.Read(ctx, identity) // a watch may not show yet that one is named
	if err != nil && !apierrors.IsNotFound(err) {
		return after, err
	}
	if err == nil {
		named = slice.Names(stored)
	}
	for _, s := range seen {
		if slices.Contains(named, s.Name) {
			continue
		}
		if err := t.Slices.Delete(ctx, s); err != nil && !apierrors.IsConflict(err) {
			return after, err
		}
	}
	return after, nil
}

func nameOf(app *v1alpha1.Application) types.NamespacedName {
	return types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
}
