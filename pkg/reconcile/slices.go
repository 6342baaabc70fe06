package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/slice"
	"holdfast.dev/holdfast/pkg/store"
)

// The parts that are too large for one object are stored in slices. Apart from the history, only this file of
// the package uses slices: all other code reads complete Applications and writes complete statuses.
//
//	written                             before                     so that
//	a slice                             the object that names it   no missing slice is named
//	a status that names other slices    the old are deleted        no named slice is deleted
//	the deletion of the Application     its slices are deleted     its record exists until the end
//
// If a process dies in between, it leaves a slice that no Application names. Collect deletes it.

// SliceGrace is how long a slice may exist that no Application has named yet, because its writer may be about
// to write the Application.
const SliceGrace = 10 * time.Minute

// sliceStore stores parts of Applications in slices. Without Slices, it joins nothing. It has no state of its own.
type sliceStore struct{ Slices }

// join returns an Application that is joined with its slices, as far as possible. It does not change app, and returns
// app itself if it has no slices. The error is a *plan.Problem if the Application is too incomplete to continue.
func (s sliceStore) join(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	if s.Slices == nil {
		return app, nil
	}
	whole, err := slice.Join(app, s.getSlice(ctx, app.Namespace))
	unavailable, isUnavailable := errors.AsType[*slice.Unavailable](err)
	switch {
	case err == nil, app.DeletionTimestamp != nil && len(whole.Status.RecordSlices) == 0:
		return whole, nil // the inventory is complete, which is sufficient for its deletion
	case isUnavailable:
		return whole, intent.SliceProblem(whole, unavailable)
	default:
		return whole, err
	}
}

// getSlice returns a function that reads the slices of a namespace.
func (s sliceStore) getSlice(ctx context.Context, namespace string) slice.Get {
	return func(name string) ([]byte, error) {
		data, err := s.Read(ctx, types.NamespacedName{Namespace: namespace, Name: name})
		if apierrors.IsNotFound(err) {
			return nil, &slice.Unavailable{Name: name}
		}
		return data, err
	}
}

// createAll creates slices, except those with one of the given names, which exist.
func (s sliceStore) createAll(ctx context.Context, parts []v1alpha1.ApplicationSlice, existing []string) error {
	for i := range parts {
		if slices.Contains(existing, parts[i].Name) {
			continue
		}
		if err := s.Create(ctx, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes the slices of an Application with the given names. It only logs errors, because Collect retries them.
func (s sliceStore) drop(ctx context.Context, app *v1alpha1.Application, names []string) {
	for _, dropped := range s.Of(store.Key(app)) {
		if !slices.Contains(names, dropped.Name) {
			continue
		}
		if err := s.Delete(ctx, dropped); err != nil {
			klog.FromContext(ctx).V(1).Info("Deferring the deletion of a slice", "slice", dropped.NamespacedName, "reason", err.Error())
		}
	}
}

// Collect deletes the slices of an Application that it does not name, or all slices if the Application does not
// exist; m is then nil. It returns when to call it again, 0 for when something changes. Without such slices, it sends
// no request.
//
// A slice that no Application names may belong to a client that is about to name it. So Collect deletes only slices
// that are older than SliceGrace, that this Application has named before, or that are being deleted.
func (r *Reconciler) Collect(ctx context.Context, application types.NamespacedName, m *State) (time.Duration, error) {
	if r.Slices == nil {
		return 0, nil
	}
	seen := r.Slices.Of(application)
	if len(seen) == 0 {
		return 0, nil
	}
	// formerly lists the slices that the Application has named and that still exist. They need no grace period.
	var formerly []string
	identity := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: application.Namespace, Name: application.Name}}
	named := slice.Names(r.Applications.Latest(identity))
	if m != nil {
		formerly = slices.DeleteFunc(m.slices, func(name string) bool {
			return !slices.ContainsFunc(seen, func(s Slice) bool { return s.Name == name })
		})
		m.slices = slices.Concat(named, slices.DeleteFunc(slices.Clone(formerly), func(name string) bool { return slices.Contains(named, name) }))
	}
	seen = slices.DeleteFunc(seen, func(s Slice) bool { return slices.Contains(named, s.Name) })
	var after time.Duration
	seen = slices.DeleteFunc(seen, func(s Slice) bool {
		left := s.Since.Add(SliceGrace).Sub(r.Now())
		if s.Deleting || left <= 0 || slices.Contains(formerly, s.Name) {
			return false
		}
		after = MinWait(after, left)
		return true
	})
	if len(seen) == 0 {
		return after, nil
	}
	stored, err := r.Applications.Read(ctx, identity) // the watch may not show yet that a slice is named
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
		if err := r.Slices.Delete(ctx, s); err != nil && !apierrors.IsConflict(err) {
			return after, err
		}
	}
	return after, nil
}
