package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/manifest"
)

// A field is masked unless it is known to be safe: a typing error may have put a secret value there.
func TestSecretsNeedReadPermission(t *testing.T) {
	secret := manifest.ID{Kind: "Secret", Namespace: "default", Name: "s"}
	for path, hidden := range map[string]bool{
		"data": true, "data.key": true, "data['a.b']": true, "stringData.key": true, "stringdata.key": true, "datum": true, "['odd.field']": true, "list[0]": true,
		"type": false, "immutable": false, "metadata.labels.app": false, "metadata.name": false, "": false,
		"metadata.annotations": true, "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']": true, "metadata.annotations.note": false,
	} {
		assert.Equal(t, hidden, secretPath(secret, path), path)
	}
	for pointer, hidden := range map[string]bool{
		"/data": true, "/data/key": true, "/stringdata/key": true, "/type": false, "/metadata/labels/app": false, "/metadata/annotations": true,
		"/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration": true, "/metadata/annotations/note": false, "/metadata/uid": false,
	} {
		assert.Equal(t, hidden, IsSecretPointer(secret, pointer), pointer)
	}
	assert.False(t, secretPath(manifest.ID{Kind: "ConfigMap"}, "data.key"))
	inner := manifest.ID{Group: "holdfast.dev", Kind: "Application", Namespace: "default", Name: "inner"}
	for path, hidden := range map[string]bool{
		"spec.manifest": true, "spec.manifest[0]": true, "spec.manifest[0].data": true, "spec.manifest[0].stringData.key": true, "spec.manifest[0].stringdata": true,
		"spec.manifest[0].metadata.annotations": true, "spec.manifest[1].spec.manifest[0].data.key": true, "spec.manifest[1].spec.manifest": true, "spec.manifest[1].spec": true, "spec": true,
		"metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']": true, "spec.manifest[0]['odd.field']": true,
		`spec.manifest[kind="a]b"].data.key`: true, `spec.manifest[kind=Secret].data['a].b']`: true, `spec.manifest[kind="a].kind.b"].data`: true,
		"spec.select": true, "spec.select[0]": true, "spec.select[0].hold": true, "spec.select[0].hold.data.key": true, "spec.select[0].hold.spec.manifest[0].data": true,
		"spec.select[0].kind": false, "spec.select[0].hold.type": false, "spec.select[0].hold.spec.replicas": false, "spec.select[0].names[0]": false,
		"spec.manifest[0].spec.replicas": false, "spec.manifest[0].metadata.labels.app": false, "spec.suspend": false, "spec.manifest[0].kind": false, "metadata.labels.a": false,
	} {
		assert.Equal(t, hidden, secretPath(inner, path), path)
	}
	for pointer, hidden := range map[string]bool{
		"/spec/manifest": true, "/spec/manifest/0": true, "/spec/manifest/-": true, "/spec/manifest/0/data/key": true, "/spec/manifest/1/spec/manifest/0/data/key": true,
		"/spec/select/0/hold/data/key": true, "/spec/select/0/names": false, "/spec/manifest/0/spec/replicas": false, "/spec/suspend": false, "/metadata/annotations/note": true, "/metadata/uid": false,
	} {
		assert.Equal(t, hidden, IsSecretPointer(inner, pointer), pointer)
	}
	assert.Equal(t, map[string]any{"kind": "Secret", "type": "Opaque", "stringdata": map[string]any{"password": manifest.Masked}, "datum": manifest.Masked},
		manifest.Redact(map[string]any{"kind": "Secret", "type": "Opaque", "stringdata": map[string]any{"password": "x"}, "datum": "x"}))
	assert.Equal(t, map[string]any{"kind": "Secret"}, withoutSecrets(map[string]any{"kind": "Secret", "stringdata": map[string]any{"password": "x"}}))
}
