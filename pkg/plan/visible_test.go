package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

func TestOnlyMarks(t *testing.T) {
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a"}
	for _, row := range []struct {
		name     string
		manifest string
		live     map[string]any
		adoption v1alpha1.AdoptionPolicy
		only     bool
	}{
		{"an object without labels gets marks", `"metadata": {"name": "a"}, "data": {"a": "b"}`, map[string]any{"data": map[string]any{"a": "b"}}, v1alpha1.AdoptAlways, true},
		{"an object with labels gets marks", `"metadata": {"name": "a"}, "data": {"a": "b"}`, map[string]any{
			"data": map[string]any{"a": "b"}, "metadata": map[string]any{"labels": map[string]any{"x": "y"}, "annotations": map[string]any{"x": "y"}},
		}, v1alpha1.AdoptAlways, true},
		{"a field that differs", `"metadata": {"name": "a"}, "data": {"a": "b"}`, map[string]any{"data": map[string]any{"a": "c"}}, v1alpha1.AdoptAlways, false},
		{"a label that is not there", `"metadata": {"name": "a", "labels": {"x": "y"}}`, map[string]any{}, v1alpha1.AdoptAlways, false},
		{"an object that may not be adopted", `"metadata": {"name": "a"}, "data": {"a": "b"}`, map[string]any{"data": map[string]any{"a": "b"}}, v1alpha1.AdoptNever, false},
		{"an object that is not there", `"metadata": {"name": "a"}, "data": {"a": "b"}`, nil, v1alpha1.AdoptAlways, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := map[manifest.ID]map[string]any{}
			if row.live != nil {
				metadata, _ := row.live["metadata"].(map[string]any)
				if metadata == nil {
					metadata = map[string]any{}
				}
				metadata["name"], metadata["namespace"], metadata["uid"] = "a", "default", "u-2"
				row.live["apiVersion"], row.live["kind"], row.live["metadata"] = "v1", "ConfigMap", metadata
				live[id] = row.live
			}
			app := &v1alpha1.Application{}
			app.Name, app.Namespace, app.UID, app.Spec.Adoption = "app", "default", "u-1", row.adoption
			app.Spec.Manifest = []runtime.RawExtension{{Raw: []byte(`{"apiVersion": "v1", "kind": "ConfigMap", ` + row.manifest + `}`)}}
			p := plan.Decide(plan.Input{Application: app, Live: live, Kinds: intent.Offline()})
			assert.Nil(t, p.Invalid)
			assert.Equal(t, row.only, p.Changes[0].IsTrackingOnly(), "%v", p.Changes[0].Fields)
		})
	}
}
