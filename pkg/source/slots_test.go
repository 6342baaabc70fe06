package source_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/source"
)

func TestANamespaceTakesItsSlotsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := source.NewSlots(3, 2)
		ctx, cancel := context.WithCancelCause(t.Context())
		var running, ended atomic.Int64
		for range 10 {
			go func() {
				if release, err := slots.Acquire(ctx, "hostile"); err == nil {
					running.Add(1)
					<-ctx.Done()
					release()
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		assert.EqualValues(t, 2, running.Load())
		for range 2 { // one after the other
			release, err := slots.Acquire(t.Context(), "other")
			require.NoError(t, err)
			release()
		}
		cancel(errors.New("enough"))
		synctest.Wait()
		assert.EqualValues(t, 10, ended.Load(), "the end of its context ends a wait")
		_, err := slots.Acquire(ctx, "hostile")
		assert.EqualError(t, err, "enough")
		for range 2 {
			_, err := slots.Acquire(t.Context(), "hostile")
			require.NoError(t, err, "every slot is free again")
		}
	})
}

// Slots that become free go to the namespaces in turn.
func TestSlotsAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := source.NewSlots(1, 1)
		release, err := slots.Acquire(t.Context(), "a")
		require.NoError(t, err)
		var served []string
		for _, namespace := range []string{"a", "a", "a", "b", "c"} {
			go func() {
				next, err := slots.Acquire(t.Context(), namespace)
				served = append(served, namespace)
				assert.NoError(t, err)
				next()
			}()
			synctest.Wait()
		}
		release()
		synctest.Wait()
		assert.Equal(t, []string{"b", "c", "a", "a", "a"}, served)
	})
}

// A translation that takes long delays those of its own namespace only.
func TestANamespaceDoesNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := hooks.New()
		enough := make(chan struct{})
		long.ApplicationToscaTranslation.Listen("long", func(*hooks.Translation) error {
			<-enough
			return nil
		})
		translated := func(namespace string, h *hooks.Hooks) *intent.Source {
			app := application(t, tosca(""))
			app.Namespace = namespace
			m, problem := source.Gather(t.Context(), app, nil, nil, nil)
			require.Nil(t, problem)
			return source.Translate(t.Context(), m, nil, h)
		}
		for range 5 {
			go translated("hostile", long)
		}
		synctest.Wait()
		s := translated("other", nil)
		assert.Nil(t, s.Problem)
		assert.Len(t, s.Objects, 2)
		close(enough)
	})
}
