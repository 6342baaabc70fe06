package controller

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
)

// The store keeps the JSON of the API server for an Application with an unknown field. This version would encode the
// Application without the field.
func TestUnknownFieldsStayInTheStore(t *testing.T) {
	client, err := cluster.NewClient(&rest.Config{Host: "https://127.0.0.1:1"})
	require.NoError(t, err)
	c := New(client, Options{})
	ended, end := context.WithCancel(t.Context())
	end()
	c.applications.store.Run(ended)
	app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "app", UID: "1", ResourceVersion: "1"}}
	require.NoError(t, c.applications.wrote(app))
	app.ResourceVersion, app.Unknown = "2", []string{"spec.news"}
	require.NoError(t, c.applications.wrote(app))
	assert.Equal(t, "1", c.applications.store.Get(keyOf(app)).ResourceVersion)
	app.ResourceVersion, app.Unknown = "3", nil
	require.NoError(t, c.applications.wrote(app))
	assert.Equal(t, "3", c.applications.store.Get(keyOf(app)).ResourceVersion)
}
