package observer_test

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/observer"
)

func Example() {
	song := func(spec map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "example.com/v1", "kind": "Song", "metadata": map[string]any{"name": "top50"}, "spec": spec,
		}
	}
	schema := song(map[string]any{"key1": "observed", "key3": "observed"})
	manifest := song(map[string]any{"key1": "one", "key2": "two"})
	live := song(map[string]any{"key1": "one", "key2": "changed", "key3": "three", "key4": "four"})

	entries, _ := observer.ParseAll([]map[string]any{schema})
	desired := entries[0].Desired(nil, manifest, nil)
	entries[0].Learn(nil, desired, manifest, live)
	fmt.Println(desired["spec"], entries[0].Project(nil, desired, live)["spec"])
	// Output: map[key1:one key2:two key3:three] map[key1:one key3:three]
}
