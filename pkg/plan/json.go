package plan

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/manifest"
)

func decode(item runtime.RawExtension) (map[string]any, error) {
	if len(item.Raw) == 0 {
		return nil, errors.New("is empty")
	}
	return manifest.DecodeJSON(item.Raw)
}

// decodeValue decodes any JSON value, with whole numbers as int64.
func decodeValue(item *runtime.RawExtension) (any, bool) {
	if len(item.Raw) == 0 {
		return nil, true // a raw null
	}
	var value any
	if err := utiljson.Unmarshal(item.Raw, &value); err != nil {
		return nil, false
	}
	return value, true
}

// encode encodes a value that was decoded or built from JSON, which cannot fail.
func encode(value any) runtime.RawExtension {
	raw, err := json.Marshal(value)
	if err != nil {
		raw = []byte("null")
	}
	return runtime.RawExtension{Raw: raw}
}

func values(items []runtime.RawExtension) []any {
	list := make([]any, 0, len(items))
	for i := range items {
		if v, ok := decodeValue(&items[i]); ok {
			list = append(list, v)
		}
	}
	return list
}
