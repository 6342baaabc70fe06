package slice

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// SpecBytes is how large an Application may be, as JSON, before its manifests are cut.
const SpecBytes = 1 << 20

// FewBytes of a list are not worth a slice.
const FewBytes = 64 << 10

// CutSpec makes slices of the manifests and the observer schema of a spec, a JSON object,
// each if it has more than so many bytes. What has values of Secrets stays in its place,
// after what is in slices. The spec that is given is not changed.
func CutSpec(namespace, application string, spec map[string]any, few int) (stored map[string]any, parts []v1alpha1.ApplicationSlice, err error) {
	stored = map[string]any{}
	for field, value := range spec {
		list, _ := value.([]any)
		if stored[field] = value; field != "manifest" && field != "observerSchema" {
			continue
		}
		var inSlices, left []any
		for _, item := range list {
			if hasSecrets(item) {
				left = append(left, item)
			} else {
				inSlices = append(inSlices, item)
			}
		}
		raw, err := json.Marshal(inSlices)
		if err != nil {
			return nil, nil, fmt.Errorf("writing spec.%s: %w", field, err)
		}
		if len(inSlices) == 0 || len(raw) <= few {
			continue
		}
		more, names := cut(namespace, application, compressed(raw))
		named := make([]any, len(names))
		for i, name := range names {
			named[i] = name
		}
		stored[field] = append([]any{map[string]any{"slices": named}}, left...)
		parts = append(parts, more...)
	}
	return stored, parts, nil
}

// hasSecrets reports whether a manifest, or one within it, has something that is masked
// where it is shown.
func hasSecrets(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		if value["kind"] == "Secret" && !reflect.DeepEqual(manifest.Redact(value), value) {
			return true
		}
		for _, child := range value {
			if hasSecrets(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasSecrets)
	}
	return false
}

// compressed is the smallest that gzip makes: manifests are written once and read often.
func compressed(raw []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one that there is
	_, _ = w.Write(raw)                                   // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}
