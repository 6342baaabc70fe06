package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// A reconcile of an Application with an unknown field, also of one that is being deleted, reaches no target, and deletes
// no slice: the field may name it.
func TestUnknownSpecReachesNoTarget(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCluster(t, r, observertest.Server{}, []manifest.ID{observertest.ID})
		c.submit(desires{resources: map[manifest.ID]*desire{observertest.ID: {manifest: observertest.Manifest(observertest.Spec(r)).Content}}})
		c.rest()
		s := &v1alpha1.ApplicationSlice{}
		s.Name = "named-by-an-unknown-field"
		c.put(s)
		c.now = c.now.Add(2 * reconcile.SliceGrace)
		reconciler := c.reconciler()
		reconciler.Target = func(*v1alpha1.Application) (reconcile.Target, error) {
			require.Fail(r, "the target is reached")
			return nil, nil
		}
		app := c.app.DeepCopy()
		app.Unknown = []string{"spec.news"}
		if rapid.Bool().Draw(r, "deleted") {
			at := metav1.NewTime(c.now)
			app.DeletionTimestamp = &at
		}
		_, err := reconciler.Reconcile(t.Context(), app, c.memory, reconcile.News{Changed: true})
		require.NoError(r, err)
		require.Contains(r, c.slices, s.Name)
		require.Equal(r, app.Finalizers, c.app.Finalizers)
	})
}
