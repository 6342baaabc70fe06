// Package manifest reads manifests, identifies their objects, validates, normalizes and orders them, and
// redacts the values of Secrets.
//
// The package is pure. It has no client, reads no files and does not know observer schemas. Its rules are
// in docs/semantics.md, "Which object" and "Desired state".
//
//	documents, err := manifest.Read("app.yaml", data)
//	objects, warnings, err := manifest.Normalize(values, manifest.Options{Application: name})
//	for _, object := range manifest.InOrder(objects, func(o manifest.Object) manifest.ID { return o.ID }) {
//		fmt.Println(object.ID, manifest.Redact(object.Content))
//	}
package manifest
