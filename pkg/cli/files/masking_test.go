package files

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/manifest"
)

// spec.select holds parts of objects, which can be Secrets.
func TestSelectedSecretsAreMasked(t *testing.T) {
	object := func() map[string]any {
		return map[string]any{"spec": map[string]any{"select": []any{
			map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "hold": map[string]any{"data": map[string]any{"a": "open"}}},
			map[string]any{"apiVersion": "v1", "kind": "Secret", "hold": map[string]any{"data": map[string]any{"a": "canary"}}},
		}}}
	}
	app := object()
	assert.True(t, MaskApplication(app))
	want := object()
	want["spec"].(map[string]any)["select"].([]any)[1].(map[string]any)["hold"] = map[string]any{"data": map[string]any{"a": manifest.Masked}}
	assert.Equal(t, want, app)
}
