package files

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

func TestAnEditKeepsTheLineBreaksOfTheFile(t *testing.T) {
	text := []byte("apiVersion: holdfast.dev/v1alpha1\r\nkind: Application\r\nspec:\r\n  manifest: []\r\n")
	documents, err := manifest.Read("app.yaml", text)
	require.NoError(t, err)
	edited, err := WithFields(text, documents[0], []v1alpha1.ResourceFields{
		{Resource: v1alpha1.ResourceSelector{Kind: "Service", Name: "web"}, Free: []string{"spec.ports"}},
	})
	require.NoError(t, err)
	assert.Equal(t, "apiVersion: holdfast.dev/v1alpha1\r\nkind: Application\r\nspec:\r\n"+
		"  fields:\r\n  - resource: {kind: Service, name: web}\r\n    free: [spec.ports]\r\n  manifest: []\r\n", string(edited))
}
