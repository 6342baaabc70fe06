package testcluster_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
)

const songs = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: songs.example.com},
spec: {group: example.com, scope: Namespaced, names: {kind: Song, plural: songs, singular: song, listKind: SongList},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`

// TestRewind leaves many objects, and checks that the next test finds none of them.
func TestRewind(t *testing.T) {
	prepared := 0
	pool := testcluster.NewPool(1, func(ctx context.Context, c *testcluster.Cluster) error {
		prepared++
		_, err := c.Kubectl(ctx, "", "create", "configmap", "prepared", "--from-literal=key=value")
		return err
	})
	for _, user := range []string{"first", "second"} {
		t.Run(user, func(t *testing.T) {
			c := pool.Take(t, testcluster.Options{})
			kubectl := func(input string, args ...string) string {
				t.Helper()
				output, err := c.Kubectl(t.Context(), input, args...)
				require.NoError(t, err)
				return output
			}
			assert.Equal(t, "value", kubectl("", "get", "configmap", "prepared", "-o", "jsonpath={.data.key}"))
			assert.NotContains(t, kubectl("", "get", "namespaces,configmaps,clusterrolebindings", "-A"), "left-behind")
			assert.NotContains(t, kubectl("", "api-resources"), "songs")
			assert.NotContains(t, kubectl("", "get", "clusterrole", "view", "-o", "yaml"), "left-behind")

			require.NoError(t, c.Define(t.Context(), songs, "songs.example.com"))
			kubectl("", "create", "namespace", "left-behind")
			kubectl(`{apiVersion: example.com/v1, kind: Song, metadata: {name: left-behind, namespace: left-behind, finalizers: [example.com/never]}}`, "create", "-f", "-")
			kubectl("", "create", "clusterrolebinding", "left-behind", "--clusterrole=view", "--user=somebody")
			kubectl("", "label", "clusterrole", "view", "who=left-behind")
			kubectl("", "delete", "configmap", "prepared")
		})
	}
	assert.Equal(t, 1, prepared, "control planes")
}

func TestDisturbedClusterIsNotReused(t *testing.T) {
	prepared := 0
	pool := testcluster.NewPool(1, func(context.Context, *testcluster.Cluster) error {
		prepared++
		return nil
	})
	for _, user := range []string{"first", "second"} {
		t.Run(user, func(t *testing.T) {
			c := pool.Take(t, testcluster.Options{})
			require.NoError(t, c.Pause(testcluster.APIServer))
			require.NoError(t, c.Resume(testcluster.APIServer))
		})
	}
	assert.Equal(t, 2, prepared, "control planes")
}
