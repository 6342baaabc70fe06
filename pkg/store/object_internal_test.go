package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/observer"
)

// markedOf returns a ConfigMap with tracking metadata, as an API server returns it.
func markedOf(name string, data map[string]any) map[string]any {
	uid := fmt.Sprintf("%08x-5f1c-4c6e-9d0e-52b0a1e7c3d4", len(name))
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data, "metadata": map[string]any{
		"name": name, "namespace": strings.Clone("default"), "uid": uid, "resourceVersion": "123456", "creationTimestamp": "2026-11-23T08:44:22Z",
		"annotations": map[string]any{v1alpha1.AnnotationTrackingID: "default/shop:/ConfigMap:default/" + name},
		"labels":      map[string]any{v1alpha1.LabelApplicationUID: strings.Clone("0d5789f9-41cb-4e49-8ee1-01414db15d8b")},
	}}
}

func TestIdentityIsStoredOnce(t *testing.T) {
	o, err := NewObject(&unstructured.Unstructured{Object: markedOf("settings", map[string]any{"mode": "live"})})
	require.NoError(t, err)
	text, err := json.Marshal(markedOf("settings", map[string]any{"mode": "live"}))
	require.NoError(t, err)
	assert.Equal(t, string(text), string(o.JSON()))
	assert.Less(t, len(o.content), 160, "of %d", len(text))
	assert.LessOrEqual(t, unsafe.Sizeof(*o), uintptr(144), "the next larger size that Go allocates is 160")
}

// texts draws parts of an identity, and strings that need escaping in JSON.
var texts = rapid.OneOf(rapid.StringMatching(`[a-z0-9.-]{0,40}`), rapid.String(), rapid.Just("holdfast.dev/tracking-id"))

func TestObjectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := func(name string) map[string]any {
			all := map[string]any{}
			for key, value := range rapid.MapOfN(texts, texts, 0, 4).Draw(t, name) {
				all[key] = value
			}
			return all
		}
		content := markedOf(texts.Draw(t, "name"), of("data"))
		metadata := content["metadata"].(map[string]any)
		for _, field := range []string{"namespace", "uid", "resourceVersion", "creationTimestamp"} {
			if rapid.Bool().Draw(t, "other "+field) {
				metadata[field] = texts.Draw(t, field)
			}
		}
		metadata["labels"].(map[string]any)["more"] = texts.Draw(t, "label")
		if rapid.Bool().Draw(t, "generation") {
			metadata["generation"] = rapid.Int64().Draw(t, "of generation")
		}
		var beside *Manifests
		if rapid.Bool().Draw(t, "manifests") {
			text := []byte(strings.Repeat(texts.Draw(t, "manifests"), 20))
			beside = &Manifests{Pack(text), len(text)}
		}
		o, err := newObject(&unstructured.Unstructured{Object: observer.CopyMap(content)}, beside)
		require.NoError(t, err)
		require.Equal(t, content, o.Content())
	})
}

// TestObjectsShareStrings compares string pointers: all objects of an Application share the string of its
// UID.
func TestObjectsShareStrings(t *testing.T) {
	s := New(Options{Now: time.Now, Changed: func(_, _ *Object) {}, Synced: func() {}})
	for _, name := range []string{"b", "c", "a", "b"} {
		require.NoError(t, s.Add(&unstructured.Unstructured{Object: markedOf(name, nil)}))
	}
	application := types.UID("0d5789f9-41cb-4e49-8ee1-01414db15d8b")
	objects := s.ForApplication(application)
	require.Len(t, objects, 3)
	for i, name := range []string{"a", "b", "c"} {
		o := objects[i]
		assert.Equal(t, types.NamespacedName{Namespace: "default", Name: name}, o.Key)
		assert.Equal(t, application, o.Application)
		assert.Same(t, unsafe.StringData(string(objects[0].Application)), unsafe.StringData(string(o.Application)))
		assert.Same(t, unsafe.StringData(objects[0].Key.Namespace), unsafe.StringData(o.Key.Namespace))
	}
}
