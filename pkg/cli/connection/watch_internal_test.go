package connection

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
)

// shortStreams is an API server that ends each watch immediately. It counts the lists.
type shortStreams struct{ lists int }

func (s *shortStreams) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.URL.Query().Get("watch") == "" {
		body = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {"resourceVersion": "1"}, "items": []}`
		if s.lists++; s.lists > 1000 {
			return nil, errors.New("too many requests")
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func TestEndedStreamsAreRepeatedSlowly(t *testing.T) {
	for name, run := range map[string]func(context.Context, *Cluster) error{
		"all Applications": func(ctx context.Context, c *Cluster) error {
			return c.Watch(ctx, "shop", metav1.ListOptions{}, func(*unstructured.Unstructured, bool) error { return nil })
		},
		"one Application": func(ctx context.Context, c *Cluster) error {
			err := WaitFlags{}.Follow(ctx, c, "shop", "web", nil, func(*v1alpha1.Application) (bool, error) { return false, nil })
			if ctx.Err() != nil && err != nil && err.Error() == "interrupted: the operation continues in the cluster" {
				err = nil
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &shortStreams{}
				client, err := cluster.NewClient(&rest.Config{Host: "http://example.com", Transport: server})
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 10250*time.Millisecond)
				defer cancel()
				require.NoError(t, run(ctx, newCluster(client, "shop")))
				assert.Equal(t, 21, server.lists)
			})
		})
	}
}

// brokenStreams is an API server whose first watch breaks, because its process ends.
type brokenStreams struct{ lists int }

func (s *brokenStreams) RoundTrip(r *http.Request) (*http.Response, error) {
	var body io.Reader = strings.NewReader(`{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {"resourceVersion": "1"}, "items": []}`)
	if r.URL.Query().Get("watch") != "" {
		body = iotest.ErrReader(errors.New("http2: client connection lost"))
	} else {
		s.lists++
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}, nil
}

func TestABrokenStreamIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &brokenStreams{}
		client, err := cluster.NewClient(&rest.Config{Host: "http://example.com", Transport: server})
		require.NoError(t, err)
		visits := 0
		err = WaitFlags{}.Follow(t.Context(), newCluster(client, "shop"), "shop", "web", nil, func(*v1alpha1.Application) (bool, error) {
			visits++
			return visits == 2, nil
		})
		require.NoError(t, err)
		assert.Equal(t, 2, server.lists)
	})
}

// A deletion that another client has finished is no error, even before the patch of the deletion.
func TestDeleteAcceptsADeletedApplication(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "http://example.com", Transport: refusal(http.StatusNotFound)})
	require.NoError(t, err)
	for _, dryRun := range []DryRun{Send, DryRunClient, DryRunServer} {
		require.NoError(t, newCluster(client, "shop").Delete(t.Context(), "web", "u-1", true, dryRun), dryRun)
	}
}

func TestATerminatingNamespaceIsNoMissingRight(t *testing.T) {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "applications"}, "web", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	explained := (&Client{}).Explained(err, "create", "Application shop/web")
	require.EqualError(t, explained, "Application shop/web: its namespace is being deleted: wait until it is deleted, create it again, and repeat the command")
}

// Forcing an apply does not help if the Application changes between the requests.
func TestOnlyConflictsOfFieldsCanBeForced(t *testing.T) {
	s := &submitter{Client: &Client{}, submission: &files.Submission{Namespace: "shop", Name: "web"}}
	changed := apierrors.NewConflict(schema.GroupResource{Resource: "applications"}, "web", errors.New("the object has been modified"))
	require.EqualError(t, s.notApplied(t.Context(), changed, "patch"),
		`Application shop/web: other clients change it at the same time: repeat the command: Operation cannot be fulfilled on applications "web": the object has been modified`)
	owned := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.mode", Message: `conflict with "flux"`}}, "")
	require.EqualError(t, s.notApplied(t.Context(), owned, "patch"),
		`Application shop/web: other clients have set these fields: the API server rejects it: .spec.mode: conflict with "flux". To overwrite them, add --force-conflicts`)
}

// A resource that is not served, or cannot be listed, does not lack a right.
func TestOnlyARefusedListIsUnlisted(t *testing.T) {
	for status, want := range map[int][]string{http.StatusForbidden: {"things.example.com"}, http.StatusNotFound: nil, http.StatusMethodNotAllowed: nil} {
		client, err := cluster.NewClient(&rest.Config{Host: "http://example.com", Transport: refusal(status)})
		require.NoError(t, err)
		app := &v1alpha1.Application{}
		app.UID = "u-1"
		v := newCluster(client, "shop").view(app)
		found, err := v.Marked(t.Context(), schema.GroupKind{}, cluster.Mapping{Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}})
		require.NoError(t, err)
		assert.Empty(t, found)
		unlisted, err := v.Unreadable()
		require.NoError(t, err)
		assert.Equal(t, want, unlisted, status)
	}
}

// refusal is an API server that responds with a status only.
type refusal int

func (r refusal) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(r), Body: http.NoBody, Request: request}, nil
}
