package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/worker"
)

// After a panic, the status no longer reports that all fields are held. It reports the reason.
func TestAPanicIsReported(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newCluster(t, r, observertest.Server{}, []manifest.ID{observertest.ID})
		c.submit(desires{resources: map[manifest.ID]*desire{observertest.ID: {manifest: observertest.Manifest(observertest.Spec(r)).Content}}})
		c.rest()
		require.Equal(r, "True", c.held())

		reconciler := c.reconciler()
		reconciler.Target = func(*v1alpha1.Application) (reconcile.Target, error) {
			panic("a mistake")
		}
		_, err := reconciler.Reconcile(t.Context(), c.app.DeepCopy(), c.memory, reconcile.News{Changed: true})
		require.ErrorIs(r, err, worker.ErrPanic)
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionHeld} {
			condition := apimeta.FindStatusCondition(c.app.Status.Conditions, kind)
			require.NotEqual(r, "True", string(condition.Status), kind)
			require.Contains(r, condition.Message, "internal error")
		}
		c.changed = true
		c.rest()
		require.Equal(r, "True", c.held(), "it is over")
	})
}
