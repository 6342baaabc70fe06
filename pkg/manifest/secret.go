package manifest

import "encoding/base64"

// foldStringData converts a Secret like the API server: it moves stringData into data, where it has precedence, and
// normalizes the base64 encoding of data. Messages never quote values. The API server never returns stringData, so a
// manifest with it could not be compared with the live object.
func (d *draft) foldStringData() {
	data := d.secretMap("data")
	for key, value := range data {
		text, isText := value.(string)
		bytes, err := base64.StdEncoding.DecodeString(text)
		if !isText || err != nil {
			d.fault(Path{"data", key}, "must be base64 text: put plain text into stringData")
			continue
		}
		// The decoder ignores line breaks, which the API server does not store.
		data[key] = base64.StdEncoding.EncodeToString(bytes)
	}
	plain := d.secretMap("stringData")
	for key, value := range plain {
		text, isText := value.(string)
		if !isText {
			d.fault(Path{"stringData", key}, mustBeText(value))
			continue
		}
		if data == nil {
			data = make(map[string]any, len(plain))
			d.content["data"] = data
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(d.content, "stringData")
}

// secretMap returns a map of values, or nil. It adds an error if the field is not a map. Normalize returns no objects
// then.
func (d *draft) secretMap(field string) map[string]any {
	values, isMap := d.content[field].(map[string]any)
	if value := d.content[field]; value != nil && !isMap {
		d.fault(Path{field}, "must be a map, not "+Describe(value))
	}
	return values
}
