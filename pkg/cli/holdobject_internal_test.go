package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Names of objects of the group rbac.authorization.k8s.io can have characters that a name of an Application cannot.
func TestAnInvalidNameNeedsTheFlag(t *testing.T) {
	id := manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:web"}
	_, err := (&editOptions{}).choose(nil, id)
	require.EqualError(t, err, `"system:web" is not a valid name of an Application: use lower-case letters, digits, '-' and '.'. Choose one with --application`)
	name, err := (&editOptions{application: "web"}).choose(nil, id)
	require.NoError(t, err)
	assert.Equal(t, "web", name)
	name, err = (&editOptions{}).choose([]string{"shop"}, id)
	require.NoError(t, err)
	assert.Equal(t, "shop", name)
}
