package controller_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// mute responds to status writes with a server error while it is on.
type mute struct {
	http.RoundTripper
	on      atomic.Bool
	refused atomic.Int64
}

func (m *mute) wrap(next http.RoundTripper) http.RoundTripper {
	m.RoundTripper = next
	return m
}

func (m *mute) RoundTrip(request *http.Request) (*http.Response, error) {
	if m.on.Load() && strings.HasSuffix(request.URL.Path, "/status") {
		m.refused.Add(1)
		return failure(request, http.StatusInternalServerError, "InternalError"), nil
	}
	return m.RoundTripper.RoundTrip(request)
}

// Watchers see that the work is complete before the Application is deleted. This also applies if status
// writes fail at first, or if the status contains no other change.
func TestStatusIsCompletedBeforeDeletion(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, manifest string
		mute           bool
	}{
		{"when the status cannot be written at first", oneConfig, true},
		{"when the rest is in progress as before", "\nmanifest:" + job, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := givenAlone(t, testcluster.Options{})
			status := &mute{}
			f.RunThrough(status.wrap, controller.Options{Callback: func() hooks.Callback { return hooks.Callback{URL: "https://example.com"} }})
			f.Submit("app", "hooks: {complete: {}}"+row.manifest)
			f.AwaitHeld("app")
			f.Quiet(time.Second)
			f.Mark()
			stream, err := f.in("user", applications).Watch(t.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "app").String()})
			require.NoError(t, err)
			defer stream.Stop()

			status.on.Store(row.mute)
			f.Patch("user", applications, "app", `{metadata: {annotations: {holdfast.dev/completed: "2026-01-01T00:00:00Z"}}}`)
			if row.mute {
				f.eventually("a status that cannot be written", func() bool { return status.refused.Load() > 2 })
				assert.Nil(t, f.Application("app").DeletionTimestamp)
				status.on.Store(false)
			}
			f.AwaitGone(applications, "app")
			f.AwaitNote("app", "its work is done")
			assert.Equal(t, []string{"at work", "completed", "completed, deleted"}, f.stages(stream))
			assert.Equal(t, 1, counts(f.Requests())["delete applications"])
			f.Quiet(quiet)
		})
	}
}

// stages returns the stages that a watch of an Application shows until it is deleted.
func (f *fixture) stages(stream watch.Interface) (seen []string) {
	f.t.Helper()
	for event := range stream.ResultChan() {
		stage := "at work"
		app := f.decode(event.Object.(*unstructured.Unstructured).Object)
		if apimeta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionCompleted) {
			stage = "completed"
		}
		if app.DeletionTimestamp != nil {
			stage += ", deleted"
		}
		seen = append(seen, stage)
		if event.Type == watch.Deleted {
			break
		}
	}
	return slices.Compact(seen)
}
