package explain_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

func Example() {
	var app v1alpha1.Application
	_ = yaml.Unmarshal([]byte(`
metadata: {namespace: default, name: shop}
spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {mode: live}}]}
`), &app)
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	live := map[manifest.ID]map[string]any{id: {"data": map[string]any{"mode": "changed", "theme": "dark"}}}

	p := plan.Decide(plan.Input{Application: &app, Live: live, Kinds: intent.Offline()})
	explained, _ := explain.Resource(p, id, false)
	for _, f := range explained.Fields {
		fmt.Println(f.State, f.Path+":", f.Why)
	}
	// Output:
	// held data.mode: drift: the live value is not the desired value; it is corrected
	// free data.theme: free: the observer schema does not name it, so it is never written again
}
