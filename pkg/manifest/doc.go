// Package manifest reads manifests, gives each its identity, checks and
// normalizes them, says in which order they go, and hides the values of Secrets.
//
// It is pure: bytes and values in, values out. It has no client, reads no file
// and knows nothing of observer schemas. What it makes of a manifest is written
// down in docs/semantics.md, "Which object" and "Desired state".
//
//	documents, err := manifest.Read("app.yaml", data)
//	objects, warnings, err := manifest.Normalize(values, manifest.Options{Application: name})
//	for _, object := range manifest.InOrder(objects, func(o manifest.Object) manifest.ID { return o.ID }) {
//		fmt.Println(object.ID, manifest.Redact(object.Content))
//	}
package manifest
