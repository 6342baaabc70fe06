package files

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/slice"
)

// takeSlices separates ApplicationSlices from other documents. get returns their data by name, or slice.Unavailable
// for a name that the documents do not contain. It does not check the digests. `holdfast submit --dry-run=client -o
// yaml` prints slices before the Application, so a file can have both.
func takeSlices(documents []manifest.Document) (others []manifest.Document, get slice.Get, err error) {
	found := map[string][]byte{}
	for _, document := range documents {
		if manifest.NestedString(document.Value, "kind") != v1alpha1.SliceKind || manifest.NestedString(document.Value, "apiVersion") != v1alpha1.GroupVersion.String() {
			others = append(others, document)
			continue
		}
		var s v1alpha1.ApplicationSlice
		if err := fill(document.Value, &s); err != nil {
			return nil, nil, FaultAt(document, nil, "is not an ApplicationSlice: "+err.Error())
		}
		found[s.Name] = s.Data
	}
	return others, func(name string) ([]byte, error) {
		if data, is := found[name]; is {
			return data, nil
		}
		return nil, &slice.Unavailable{Name: name}
	}, nil
}

// fill decodes a JSON object into a Go value.
func fill(content map[string]any, into any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// ToObject returns the JSON object of a Go value.
func ToObject(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return manifest.DecodeJSON(raw)
}

// ToList converts a list to JSON values. It returns nil for a nil list, and for one that cannot be encoded. The
// result has the types of decoded JSON, in which package manifest and delta compare values.
func ToList(list any) (items []any) {
	raw, err := json.Marshal(list)
	if err != nil || utiljson.Unmarshal(raw, &items) != nil {
		return nil
	}
	return items
}

// JoinObject replaces the references to slices in a stored Application, a JSON object, by their content. It changes
// object, and keeps fields that this version does not know, except in a status with slices. It changes nothing if
// there are no slices. The lists in spec.manifest and spec.observerSchema are replaced. A caller that sends object
// must split it again.
func JoinObject(object map[string]any, get slice.Get) error {
	app := &v1alpha1.Application{}
	if err := fill(object, app); err != nil {
		return err
	}
	if len(slice.Names(app)) == 0 {
		return nil
	}
	whole, err := slice.Join(app, get)
	if err != nil {
		return err
	}
	spec, _ := object["spec"].(map[string]any)
	for field, list := range map[string][]runtime.RawExtension{"manifest": whole.Spec.Manifest, "observerSchema": whole.Spec.ObserverSchema} {
		items := make([]any, len(list))
		for i, item := range list {
			if items[i], err = manifest.DecodeJSON(item.Raw); err != nil {
				return err
			}
		}
		// A list that the Application does not have must not become an empty one.
		if len(items) > 0 {
			spec[field] = items
		}
	}
	if len(app.Status.RecordSlices) == 0 {
		return nil
	}
	object["status"], err = ToObject(whole.Status)
	return err
}
