package suggestion_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/suggestion"
)

func Example() {
	var live map[string]any
	_ = yaml.Unmarshal([]byte(`
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  managedFields:
  - {manager: kubectl-edit, operation: Update, fieldsV1: {'f:spec': {'f:paused': {}}}}
  - {manager: canary-controller, operation: Update, fieldsV1: {'f:spec': {'f:minReadySeconds': {}}}}
spec: {paused: true, minReadySeconds: 5}
`), &live)

	s := suggestion.For(live, nil)
	fmt.Println(s.Manifest["spec"], s.LeftOut[0].Path)
	// Output: map[paused:true] spec.minReadySeconds
}
