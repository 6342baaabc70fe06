package cluster

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

var errLost = errors.New("the lease is lost")

// A closed fence rejects writes of the controller itself and as a ServiceAccount.
func TestClosedFenceRejectsWrites(t *testing.T) {
	next := &recorded{}
	client, err := NewClient(&rest.Config{Host: "https://127.0.0.1:1", Transport: next})
	require.NoError(t, err)
	writer, err := client.WriterFor("default", "applier")
	require.NoError(t, err)
	at := Location{
		ID:      manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "web"},
		Mapping: Mapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespaced: true},
	}
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1", ResourceVersion: "1"}}
	held := errLost
	ctx := WithFence(t.Context(), func() error { return held })
	writes := map[string]func() error{
		"create": func() error { _, err := writer.Create(ctx, at, map[string]any{}); return err },
		"patch":  func() error { _, err := writer.Patch(ctx, at, []any{}); return err },
		"delete": func() error { _, err := writer.Delete(ctx, at, "1", "1"); return err },
		"status": func() error { _, err := client.WriteStatus(ctx, app, app.Status); return err },
		"go":     func() error { return client.DeleteApplication(ctx, app) },
	}
	for name, write := range writes {
		require.ErrorIs(t, write(), errLost, name)
	}
	assert.Empty(t, next.requests)
	_, err = writer.Get(ctx, at)
	require.ErrorIs(t, err, errNotSent, "what is read does no harm")
	held = nil
	for name, write := range writes {
		require.ErrorIs(t, write(), errNotSent, name)
	}
}

func TestFenceOpensOnRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFence(10 * time.Second)
		assert.ErrorIs(t, f.Err(), ErrNotHeld, "nothing was renewed yet")
		f.Renewed(time.Now())
		assert.NoError(t, f.Err())
		time.Sleep(9 * time.Second) //nolint:forbidigo // the clock of the bubble
		assert.NoError(t, f.Err())
		time.Sleep(time.Second) //nolint:forbidigo // the clock of the bubble
		assert.ErrorIs(t, f.Err(), ErrNotHeld, "however long nothing has run meanwhile")
		f.Renewed(time.Now())
		assert.NoError(t, f.Err())
	})
}

// The monotonic clock stops while a machine is suspended, so the fence must check the wall clock, too.
func TestFenceChecksWallClock(t *testing.T) {
	f := NewFence(time.Hour)
	f.Renewed(time.Now().Round(0).Add(-2 * time.Hour))
	assert.ErrorIs(t, f.Err(), ErrNotHeld)
	f.Renewed(time.Now().Round(0).Add(-time.Minute))
	assert.NoError(t, f.Err())
}
