package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/store"
)

// Narrowing a selection closes the store of all namespaces and opens another one, which has some of its objects.
func TestRemovalsAreReportedBeforeAdditions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") != "" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "ApplicationList", "metadata": {"resourceVersion": "9"},
			"items": [{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application", "metadata": {"namespace": "a", "name": "a", "uid": "1", "resourceVersion": "1"}}]}`)
	}))
	t.Cleanup(server.Close)
	client, err := NewClient(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	var mu sync.Mutex
	var events []string
	note := func(event string) []string {
		mu.Lock()
		defer mu.Unlock()
		if event != "" {
			events = append(events, event)
		}
		return append([]string(nil), events...)
	}
	synced, added := make(chan struct{}), make(chan struct{}, 2)
	store := NewApplicationStore(client, v1alpha1.GroupVersionResource, Selection{}, func(_, after *store.Object) {
		if after == nil {
			// As with many other objects, during which the new watch could add the object.
			<-added
			select {
			case <-added:
			case <-time.After(200 * time.Millisecond):
			}
			note("removed")
			return
		}
		note("added")
		added <- struct{}{}
	}, func() { close(synced) })
	store.Run(t.Context())
	<-synced
	store.Select(Selection{Namespaces: []string{"a"}})
	require.Eventually(t, func() bool { return len(note("")) == 3 }, time.Minute, time.Millisecond)
	assert.Equal(t, []string{"added", "removed", "added"}, note(""))
}
