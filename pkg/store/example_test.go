package store_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/store"
)

func Example() {
	object := func(version string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
			"namespace": "default", "name": "config", "uid": "u-1", "resourceVersion": version,
		}}
	}
	changed := func(_, after *store.Object) { fmt.Println("changed:", after.ResourceVersion) }

	s := store.New(store.Options{Now: time.Now, Changed: changed, Synced: func() {}})
	s.ApplyWrite("app-1", object("6"))
	_ = s.Update(&unstructured.Unstructured{Object: object("5")}) // the watch lags
	fmt.Println(s.Get(types.NamespacedName{Namespace: "default", Name: "config"}).ResourceVersion)
	// Output: 6
}
