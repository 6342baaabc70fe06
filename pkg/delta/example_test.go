package delta_test

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

func Example() {
	song := func(spec map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "example.com/v1", "kind": "Song", "metadata": map[string]any{"name": "top50"}, "spec": spec,
		}
	}
	entries, _ := observer.ParseAll([]map[string]any{song(map[string]any{"key1": observer.LeafText})})
	entry, manifest := entries[0], song(map[string]any{"key1": "one", "key2": "two"})
	live := song(map[string]any{"key1": "changed", "key2": "changed"})

	c := delta.Compare(delta.Input{Entry: entry, Desired: manifest, Manifest: manifest, Live: live})
	for _, d := range c.Differences {
		fmt.Println(d.Path, d.Reason)
	}
	// Output: spec.key1 changed
}
