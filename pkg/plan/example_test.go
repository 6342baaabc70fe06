package plan_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

func Example() {
	var app v1alpha1.Application
	_ = yaml.Unmarshal([]byte(`
metadata: {namespace: default, name: shop}
spec:
  manifest:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: live}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: more}}
`), &app)
	live := map[manifest.ID]map[string]any{
		{Kind: "ConfigMap", Namespace: "default", Name: "settings"}: {"data": map[string]any{"mode": "changed"}},
	}

	p := plan.Decide(plan.Input{Application: &app, Live: live, Kinds: intent.Offline()})
	for _, change := range p.Changes {
		fmt.Println(change.Action, change.ID)
	}
	// Output:
	// update ConfigMap default/settings
	// create ConfigMap default/more
}
