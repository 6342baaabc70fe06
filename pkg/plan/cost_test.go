package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// sharedData returns a world that holds n keys of a shared ConfigMap, in a map that it has created.
func sharedData(t *testing.T, n int) *world {
	t.Helper()
	spec := func(value string) string {
		var text strings.Builder
		text.WriteString("ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {")
		for i := range n {
			fmt.Fprintf(&text, "key%d: %s, ", i, value)
		}
		return text.String() + "}}]"
	}
	w := newWorld(t, spec("first"))
	w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "common"}] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "common", "namespace": "default", "uid": "u-9", "resourceVersion": "7"},
	}
	w.round()
	w.round()
	w.edit(spec("second"))
	return w
}

// growth returns how the allocations of a plan grow when an object has four times as many held fields.
func growth(t *testing.T, n int, worldOf func(n int) *world) float64 {
	t.Helper()
	allocations := func(n int) float64 {
		w := worldOf(n)
		return testing.AllocsPerRun(1, func() { w.decide() })
	}
	return allocations(4*n) / allocations(n)
}

func TestManagedFieldsAreReadOnce(t *testing.T) {
	assert.Less(t, growth(t, 100, func(n int) *world {
		w := sharedData(t, n)
		owned := map[string]any{}
		for i := range n {
			owned[fmt.Sprint("f:key", i)] = map[string]any{}
			w.set("added", "data", fmt.Sprint("default", i))
		}
		w.set([]any{map[string]any{"manager": "holdfast:default/shop", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:data": owned}}}, "metadata", "managedFields")
		w.edit("ownership: Share\nmanifest: []")
		return w
	}), 8.0)
}

func TestHoldersAreReadOnce(t *testing.T) {
	assert.Less(t, growth(t, 10, func(n int) *world {
		w := sharedData(t, n)
		var others []string
		for i := range 2000 {
			others = append(others, fmt.Sprint("data.other", i))
		}
		all := map[string]any{}
		annotation, _ := get(w.only(), "metadata", "annotations", v1alpha1.AnnotationHolders).(string)
		_ = json.Unmarshal([]byte(annotation), &all)
		all["default/other"] = map[string]any{"uid": "app-2", "leaves": others}
		text, _ := json.Marshal(all)
		w.set(string(text), "metadata", "annotations", v1alpha1.AnnotationHolders)
		return w
	}), 1.5)
}
