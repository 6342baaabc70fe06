package deploy_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every directory is mentioned in the documents.
func TestEveryDirectoryIsUsed(t *testing.T) {
	used := map[string]bool{}
	for _, document := range []string{"../docs/operations.md", "../docs/security.md", "../docs/install.md"} {
		text, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, name := range []string{"default", "ha", "split", "namespaced", "monitoring", "helm/holdfast", "admission", "profiles", "install.yaml"} {
			used[name] = used[name] || strings.Contains(string(text), "deploy/"+name)
		}
	}
	for name, is := range used {
		assert.True(t, is, "deploy/%s is in no document", name)
	}
}
