// Package manifest reads manifests, identifies their objects, validates, normalizes and orders them, and redacts the
// values of Secrets.
//
// The package is pure. It has no client, reads no files and does not know observer schemas. Its rules are in
// docs/semantics.md, "Which object" and "Desired state". There are two ways in: Read for input from users, which is
// strict and keeps positions, and DecodeJSON for JSON that an API server has accepted.
//
// All values consist of map[string]any, []any, string, int64, float64, bool and nil. An integral number in a file is
// an int64, so that equal manifests are equal values. No message contains a value, because any value can be secret:
// it has the path and, from Describe, the type.
//
//	documents, err := manifest.Read("app.yaml", data)
//	objects, warnings, err := manifest.Normalize(values, manifest.Options{Application: name})
//	for _, object := range manifest.InOrder(objects, func(o manifest.Object) manifest.ID { return o.ID }) {
//		fmt.Println(object.ID, manifest.Redact(object.Content))
//	}
package manifest
