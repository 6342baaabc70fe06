package controller

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/store"
)

func TestUnchangedApplications(t *testing.T) {
	const before = `{"metadata": {"labels": {"a": "1"}, "annotations": {"b": "1"}, "finalizers": ["c"], "managedFields": [{"manager": "d"}]}, "status": {"summary": "1/1"}}`
	for _, row := range []struct {
		name, old, new string
		same           bool
	}{
		{"nothing", "", "", true},
		{"a status", "1/1", "0/1", true},
		{"who manages it", `"d"`, `"e"`, true},
		{"a label", `"a": "1"`, `"a": "2"`, false},
		{"an annotation", `"b": "1"`, `"b": "2"`, false},
		{"a finalizer", `["c"]`, `[]`, false},
		{"a deletion", `"labels"`, `"deletionTimestamp": "2026-01-01T00:00:00Z", "labels"`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.same, sameDesiredSpec(object(t, before), object(t, strings.Replace(before, row.old, row.new, 1))))
		})
	}
}

// object returns an Application in the form of the store.
func object(t *testing.T, raw string) *store.Object {
	t.Helper()
	content, err := manifest.DecodeJSON([]byte(raw))
	require.NoError(t, err)
	o, err := store.NewObject(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	return o
}

func TestWaitsForKindsEndWithTheirApplication(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	c := New(client, Options{})
	app := func(name string, generation int64) *store.Object {
		return object(t, fmt.Sprintf(`{"metadata": {"namespace": "default", "name": %q, "uid": %q, "generation": %d}}`, name, name, generation))
	}
	a, b := app("a", 1), app("b", 1)
	c.applicationChanged(nil, a)
	c.applicationChanged(nil, b)
	c.target.waits.add("x.example.com", a.Key)
	c.target.waits.add("x.example.com", b.Key)
	c.target.waits.add("y.example.com", a.Key)
	c.target.waits.add(strings.Repeat("z", 1<<20), a.Key)
	c.target.waits.add("../metrics", a.Key)
	assert.Len(t, c.target.waits.waiting, 2, "there are no such groups")

	// When its author repeatedly writes other groups into it,
	for i := range 60 {
		next := app("a", int64(i+2))
		c.applicationChanged(a, next)
		a = next
		c.target.waits.add(fmt.Sprintf("g%d.example.com", i), a.Key)
	}
	assert.Len(t, c.target.waits.waiting, 2, "then it waits for the last ones only.")
	assert.Len(t, c.target.waits.waiting["x.example.com"], 1)

	// And when both Applications are deleted, no state is left.
	c.applicationChanged(a, nil)
	c.applicationChanged(b, nil)
	assert.Empty(t, c.target.waits.waiting)
}

func TestDeletionDuringAReconcileEndsItsWatch(t *testing.T) {
	const app = `{"apiVersion": "holdfast.dev/v1alpha1", "kind": "Application",
		"metadata": {"namespace": "default", "name": "a", "uid": "%s", "generation": 1, "resourceVersion": "%d"},
		"spec": {"manifest": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}]}}`
	for _, again := range []bool{false, true} {
		deleted := func() {}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path != "/api/v1" {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			deleted() // before the reconcile needs the watch
			_, _ = io.WriteString(w, `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
				{"name": "configmaps", "kind": "ConfigMap", "namespaced": true, "verbs": ["list", "watch", "create", "patch", "delete"]}]}`)
		}))
		t.Cleanup(server.Close) // after the end of the context
		client, err := cluster.NewClient(&rest.Config{Host: server.URL})
		require.NoError(t, err)
		c := New(client, Options{})
		c.target.watches.Run(t.Context())
		c.target.namespaces.Run(t.Context())
		c.applications.store.Run(t.Context())
		require.NoError(t, c.applications.wrote(fmt.Appendf(nil, app, "old", 1)))
		old := c.applications.store.All()[0]
		c.applicationChanged(nil, old)
		deleted = sync.OnceFunc(func() {
			c.applications.store.Deleted(old.Key, old.UID)
			c.applicationChanged(old, nil)
			if again {
				require.NoError(t, c.applications.wrote(fmt.Appendf(nil, app, "new", 3)))
			}
		})

		_, _ = c.reconcile(t.Context(), old.Key)
		assert.Empty(t, c.target.watches.Users(""), "the watch has no user, or is never stopped")
	}
}
