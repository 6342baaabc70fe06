package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

const added = `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",` +
	`"annotations":{"k":"v"}},"data":{"big":9007199254740993,"float":1.0,"text":"a\u003cb\nc"},"Metadata":{"name":"other"}}}`

// TestEventsAreTheDynamicClients compares the events of watcher with those of the dynamic client.
func TestEventsAreTheDynamicClients(t *testing.T) {
	for name, stream := range map[string]string{
		"none":               "",
		"one":                added + "\n",
		"without a newline":  added,
		"empty lines":        "\n\r\n" + added + "\n\n" + added + "\n",
		"indented":           "{\n \"type\": \"MODIFIED\",\n \"object\": {\"apiVersion\": \"v1\", \"kind\": \"A\", \"metadata\": {\n\n \"name\": \"a\"}}\n}\n" + added + "\n",
		"deleted":            `{"object":{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}},"type":"DELETED"}` + "\n",
		"bookmark":           `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n",
		"error":              `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410,"metadata":{}}}` + "\n",
		"unknown type":       added + "\n" + `{"type":"OTHER","object":{"apiVersion":"v1","kind":"A"}}` + "\n" + added,
		"no object":          added + "\n" + `{"type":"ADDED"}` + "\n",
		"null object":        `{"type":"ADDED","object":null}` + "\n",
		"object of a string": `{"type":"ADDED","object":"text"}` + "\n",
		"name of a number":   `{"type":"ADDED","object":{"kind":"A","metadata":{"name":7}}}` + "\n",
		"not JSON":           added + "\n" + `{"type":]` + "\n" + added,
		"truncated":          added + "\n" + added[:100],
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.Equal(t, "/api/v1/namespaces/n/configmaps?labelSelector=l&watch=true", r.URL.String())
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, stream)
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL})
			require.NoError(t, err)
			options := metav1.ListOptions{LabelSelector: "l"}
			theirs, err := client.Own.Resource(configMaps).Namespace("n").Watch(t.Context(), options)
			require.NoError(t, err)
			ours, err := eventClient{client.applications}.watcher(configMaps, "n")(t.Context(), options)
			require.NoError(t, err)
			assert.Equal(t, readEvents(t, theirs), readEvents(t, ours))
		})
	}
}

// readEvents returns the events of a watch until it ends, with complete objects. An event that cannot be decoded is an
// error without details.
func readEvents(t *testing.T, stream watch.Interface) (events []watch.Event) {
	t.Helper()
	failed := watch.Event{Type: watch.Error}
	for event := range stream.ResultChan() {
		if status, ok := event.Object.(*metav1.Status); ok && status.Code == http.StatusInternalServerError {
			event = failed
		}
		if object, ok := event.Object.(*streamedObject); ok {
			u, err := object.Decode()
			if event.Object = runtime.Object(u); err != nil {
				events = append(events, failed)
				break
			}
			assert.Equal(t, []any{u.GetName(), u.GetNamespace(), u.GetUID(), u.GetResourceVersion()},
				[]any{object.Name, object.Namespace, object.UID, object.ResourceVersion})
		}
		events = append(events, event)
	}
	return events
}

func TestAWatchReturnsTheStatusOfAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusGone)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Expired","code":410}`)
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = eventClient{client.applications}.watcher(configMaps, "")(t.Context(), metav1.ListOptions{})
	require.Error(t, err)
	assert.Equal(t, metav1.StatusReasonExpired, apierrors.ReasonForError(err))
}

// A load balancer without a running API server accepts connections and closes them.
func TestAWatchWithoutAResponseIsAnError(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	pulse := newWatchHealth(defaultStallTimeouts, &connectionHealth{})
	f := &consistentListWatcher{watch: eventClient{client.applications}.watcher(configMaps, ""), pulse: pulse}
	_, err = f.open(t.Context(), metav1.ListOptions{ResourceVersion: "7"})
	require.Error(t, err)
	assert.True(t, pulse.takeStale(), "the API server may be another one: list before the next watch")
	down, _ := pulse.line.state()
	assert.True(t, down)
}
