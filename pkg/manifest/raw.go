package manifest

import (
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// DecodeRaw decodes a JSON object, like DecodeJSON. It returns an error if the field is empty. The API server
// guarantees an object, but a file or a Go program does not.
func DecodeRaw(item runtime.RawExtension) (map[string]any, error) {
	if len(item.Raw) == 0 {
		return nil, errors.New("is empty")
	}
	return DecodeJSON(item.Raw)
}

// DecodeRawValue decodes any JSON value, with whole numbers as int64. It returns false for invalid JSON. An empty
// field is null, because the API machinery drops a raw null.
func DecodeRawValue(item *runtime.RawExtension) (any, bool) {
	if len(item.Raw) == 0 {
		return nil, true // a raw null
	}
	var value any
	if err := utiljson.Unmarshal(item.Raw, &value); err != nil {
		return nil, false
	}
	return value, true
}

// EncodeRaw encodes a value that was decoded or built from JSON, which cannot fail. The JSON has sorted keys, and
// escapes <, > and &, as the API machinery does.
func EncodeRaw(value any) runtime.RawExtension {
	raw, err := json.Marshal(value)
	if err != nil {
		raw = []byte("null")
	}
	return runtime.RawExtension{Raw: raw}
}

// DecodeRawList decodes a list of JSON values. It skips invalid ones. The result can be shorter than items, so indices
// do not correspond.
func DecodeRawList(items []runtime.RawExtension) []any {
	list := make([]any, 0, len(items))
	for i := range items {
		if v, ok := DecodeRawValue(&items[i]); ok {
			list = append(list, v)
		}
	}
	return list
}
