package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/cluster"
)

// A written Application is in the store as the API server returned it, with the fields that this version does not
// know, so that a reconcile before the watch event does not repeat the write.
func TestUnknownFieldsStayInTheStore(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	c := New(client, Options{})
	ended, end := context.WithCancel(t.Context())
	end()
	c.applications.store.Run(ended)
	raw := []byte(`{"metadata": {"namespace": "default", "name": "app", "uid": "1", "resourceVersion": "1"}, "spec": {"news": "x", "manifest": []}}`)
	require.NoError(t, c.applications.wrote(raw))
	app, err := c.applications.application(types.NamespacedName{Namespace: "default", Name: "app"})
	require.NoError(t, err)
	assert.Equal(t, []string{"spec.news"}, app.Unknown)
}
