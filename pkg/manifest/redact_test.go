package manifest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func one(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	documents, err := Read("", []byte(text))
	require.NoError(t, err)
	require.Len(t, documents, 1)
	return documents[0].Value
}

func TestRedact(t *testing.T) {
	rows := []struct{ name, content, want string }{
		{
			"values of a Secret",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque, data: {a: canary, b: null, c: {d: canary}}, stringData: {e: canary}}",
			"{apiVersion: v1, kind: Secret, metadata: {name: a}, type: Opaque, data: {a: '***', b: '***', c: '***'}, stringData: {e: '***'}}",
		},
		{
			"the copy that kubectl apply keeps",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: canary, b: kept}}}",
			"{apiVersion: v1, kind: Secret, metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '***', b: kept}}}",
		},
		{"data that is not a map", "{apiVersion: v1, kind: Secret, data: canary, stringData: [canary]}", "{apiVersion: v1, kind: Secret, data: '***', stringData: '***'}"},
		{"a field that is misspelt", "{apiVersion: v1, kind: Secret, stringdata: {a: canary}}", "{apiVersion: v1, kind: Secret, stringdata: {a: '***'}}"},
		{"half of a Secret", "{kind: Secret, data: {a: canary}}", "{kind: Secret, data: {a: '***'}}"},
		{"a Secret of another group", "{apiVersion: example.com/v1, kind: Secret, data: {a: kept}}", "{apiVersion: example.com/v1, kind: Secret, data: {a: kept}}"},
		{"a ConfigMap", "{apiVersion: v1, kind: ConfigMap, data: {a: kept}}", "{apiVersion: v1, kind: ConfigMap, data: {a: kept}}"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			content := one(t, row.content)
			before := runtime.DeepCopyJSON(content)
			redacted := Redact(content)
			assert.Equal(t, one(t, row.want), redacted)
			assert.Equal(t, before, content, "the input is not modified")
			assert.Equal(t, redacted, Redact(redacted), "redacting twice is redacting once")
			raw, err := json.Marshal(redacted)
			require.NoError(t, err)
			assert.NotContains(t, string(raw), "canary")
		})
	}
	assert.Nil(t, Redact(nil))
}

func TestIsSecret(t *testing.T) {
	assert.True(t, IsSecret(schema.GroupKind{Kind: "Secret"}))
	assert.False(t, IsSecret(schema.GroupKind{Group: "example.com", Kind: "Secret"}))
	assert.False(t, IsSecret(schema.GroupKind{Kind: "ConfigMap"}))
}
