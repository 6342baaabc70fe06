package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// configMapsNamed returns a spec with n ConfigMaps.
func configMapsNamed(prefix string, n int, more string) string {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s-%d}, data: {a: b}}", prefix, i))
	}
	return fmt.Sprintf("{%s manifest: [%s]}", more, strings.Join(items, ", "))
}

// TestDeletionsNeedAConfirmation checks that the controller keeps the objects of a wrong branch and creates the
// others, sends no request while it waits, and finishes confirmed deletions although a finalizer delays one, and
// the process is another one.
func TestDeletionsNeedAConfirmation(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	first := f.Run(controller.Options{})
	f.Submit("app", configMapsNamed("old", 8, ""))
	f.AwaitReady("app")

	f.Mark()
	f.Submit("app", configMapsNamed("new", 8, ""))
	app, message := f.AwaitReason("app", v1alpha1.ReasonDeletionUnconfirmed)
	assert.Contains(t, message, "The change would delete 8 objects, and spec.maxDeletions allows 5 of 8. If this is intended, run: holdfast reconcile app -n "+f.namespace+" --confirm ")
	assert.Equal(t, "16", fmt.Sprint(len(app.Status.Resources)))
	assert.NotNil(t, f.Get(configMaps, "new-7"))
	f.Quiet(quiet)
	asked := counts(f.Requests())
	assert.Equal(t, 8, asked["create configmaps"], "%v", asked)
	assert.Zero(t, asked["delete configmaps"], "%v", asked)
	first.Stop()

	f.Mark()
	second := f.Run(controller.Options{})
	f.Quiet(quiet)
	assert.Empty(t, counts(f.touched()), "nothing is written at rest, by another process either: %s", f.touched())

	f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/confirm-deletions: "0123456789abcdef"}}}`)
	f.Quiet(quiet)
	assert.NotNil(t, f.Get(configMaps, "old-0"))

	f.Patch("somebody", configMaps, "old-3", `{metadata: {finalizers: [somebody.example.com/wait]}}`)
	f.Mark()
	require.True(t, f.confirm(app))
	for i := range 8 {
		if i != 3 {
			f.AwaitGone(configMaps, fmt.Sprintf("old-%d", i))
		}
	}
	f.AwaitReason("app", v1alpha1.ReasonWaiting)
	second.Stop()
	f.Run(controller.Options{})
	f.Patch("somebody", configMaps, "old-3", `{metadata: {finalizers: null}}`)
	f.AwaitGone(configMaps, "old-3")
	app = f.AwaitReady("app")
	assert.Len(t, app.Status.Resources, 8)
	assert.Nil(t, app.Status.Deletions)
	f.Quiet(quiet)
	asked = counts(f.Requests())
	assert.Equal(t, 8, asked["delete configmaps"], "%v", asked)

	t.Run("an allowed change costs one status", func(t *testing.T) {
		f.Mark()
		f.Submit("app", configMapsNamed("new", 6, ""))
		f.AwaitGone(configMaps, "new-7")
		app := f.AwaitReady("app")
		assert.Equal(t, int32(2), app.Status.Deletions.Deleted)
		f.Quiet(time.Second)
		assert.Equal(t, 2, counts(f.Requests())["delete configmaps"])
		assert.Equal(t, 1, counts(f.Requests())["patch applications/status"], "%v", counts(f.Requests()))
	})
	t.Run("limits that the API server rejects", func(t *testing.T) {
		for _, limit := range []string{"-1", `"101%"`, `"5"`, "1.5"} {
			_, err := f.kubectl("", "patch", "hfapp", "app", "--type=merge", "--patch="+fmt.Sprintf(`{"spec": {"maxDeletions": %s}}`, limit))
			assert.ErrorContains(t, err, "spec.maxDeletions", limit)
		}
		for _, limit := range []string{"0", "100000", `"0%"`, `"100%"`} {
			_, err := f.kubectl("", "patch", "hfapp", "app", "--type=merge", "--patch="+fmt.Sprintf(`{"spec": {"maxDeletions": %s}}`, limit))
			assert.NoError(t, err, limit)
		}
	})
}
