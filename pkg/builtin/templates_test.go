package builtin_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/builtin"
)

// A template whose kind has no definition would never be used.
func TestTemplatesHaveDefinitions(t *testing.T) {
	seen := map[string]bool{}
	for _, one := range builtin.Templates() {
		kind := one.Kind()
		assert.False(t, seen[kind.GroupKind().String()], "%s is there twice", kind.GroupKind())
		seen[kind.GroupKind().String()] = true
		content, err := os.ReadFile("../../deploy/crd/" + kind.Group + "_" + kind.Resource + ".yaml")
		require.NoError(t, err)
		definition := unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(content, &definition.Object))
		name, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
		assert.Equal(t, kind.Kind, name)
		scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
		assert.Equal(t, "Namespaced", scope)
	}
}
