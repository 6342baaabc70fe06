package mysql_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

func Example() {
	var object map[string]any
	_ = yaml.Unmarshal([]byte(`
apiVersion: fnjoin.com/v1
kind: Mysql
metadata: {name: db-1, namespace: default}
spec: {storage: 256Mi, memory: 128Mi, cpu: 250m}
`), &object)
	rendered, _ := mysql.Template{}.Render(template.Input{Object: object})
	for _, manifest := range rendered.Manifests {
		fmt.Println(manifest["kind"], manifest["metadata"].(map[string]any)["name"])
	}
	// Output:
	// Secret db-1
	// ConfigMap db-1-config
	// PersistentVolumeClaim db-1-data
	// Service db-1-headless
	// Service db-1
	// StatefulSet db-1
}
