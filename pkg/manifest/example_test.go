package manifest_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/manifest"
)

func Example() {
	documents, err := manifest.Read("app.yaml", []byte(`
{apiVersion: v1, kind: Service, metadata: {name: echo, uid: copied-by-mistake}}
---
{apiVersion: v1, kind: Secret, metadata: {name: echo}, stringData: {password: hunter2}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	options := manifest.Options{Application: types.NamespacedName{Namespace: "shop", Name: "echo"}}
	objects, warnings, err := manifest.Normalize([]map[string]any{documents[0].Value, documents[1].Value}, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(warnings)
	for _, object := range manifest.InOrder(objects, func(o manifest.Object) manifest.ID { return o.ID }) {
		fmt.Println(object.ID, manifest.Redact(object.Content)["data"])
	}
	// Output:
	// [spec.manifest[0].metadata.uid (Service shop/echo): dropped: the API server sets it]
	// Secret shop/echo map[password:***]
	// Service shop/echo <nil>
}
