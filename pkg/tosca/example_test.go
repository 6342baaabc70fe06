package tosca_test

import (
	"context"
	"fmt"

	"holdfast.dev/holdfast/pkg/tosca"
)

func Example() {
	source := tosca.Source{Name: "shop.yaml", Data: []byte(`
tosca_definitions_version: tosca_simple_yaml_1_3
topology_template:
  inputs:
    mode: {type: string, constraints: [{valid_values: [live, test]}]}
  node_templates:
    settings:
      type: tosca.nodes.indigo.KubernetesObject
      properties:
        spec:
          apiVersion: v1
          kind: ConfigMap
          metadata: {name: settings}
          data: {mode: {get_input: mode}}
`)}
	for _, mode := range []string{"live", "fast"} {
		inputs := map[string]tosca.Input{"mode": {Value: mode}}
		result, err := tosca.Translate(context.Background(), source, inputs, tosca.Options{})
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, object := range result.Objects {
			fmt.Println(object["kind"], object["data"])
		}
	}
	// Output:
	// ConfigMap map[mode:live]
	// shop.yaml:5:5: inputs.mode: value "fast" must be one of ["live","test"]
}
