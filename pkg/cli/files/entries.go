package files

import (
	"errors"
	"path"

	"holdfast.dev/holdfast/pkg/manifest"
)

// EditedApplication is an Application in a file, to which schemas are added. AddEntry changes the Value of the
// document.
type EditedApplication struct{ manifest.Document }

// TheApplication returns the Application among the documents, or nil if there is none. It returns an error if
// there are other documents next to it. With a validation error, it returns the Application and the error.
func TheApplication(documents []manifest.Document) (*EditedApplication, error) {
	for _, document := range documents {
		if !ofApplication(document.Value) {
			continue
		}
		if len(documents) > 1 {
			return nil, FaultAt(document, nil, "is an Application, and the input contains other objects: give only the Application")
		}
		return &EditedApplication{document}, errors.Join(isApplication(document), checkApplication(document))
	}
	return nil, nil
}

// Unspoken returns the manifests of the Application that have neither a schema in spec.observerSchema nor an item in
// spec.fields. They are returned as documents with the position of the Application. `author schema --from-live -f
// FILE` proposes schemas for them only, and keeps those of the user.
func (a *EditedApplication) Unspoken() []manifest.Document {
	spec, _ := a.Value["spec"].(map[string]any)
	var unspoken []manifest.Document
	for _, m := range manifest.NestedMaps(spec, "manifest") {
		if !isSpokenOf(spec, m) {
			unspoken = append(unspoken, manifest.Document{File: a.File, Line: a.Line, Value: m})
		}
	}
	return unspoken
}

// isSpokenOf reports whether spec has a schema or a spec.fields item for an object. It compares only kinds and
// names. Names in spec.fields can contain wildcards.
func isSpokenOf(spec, object map[string]any) bool {
	kind, name := manifest.NestedString(object, "kind"), manifest.NestedString(object, "metadata", "name")
	for _, entry := range manifest.NestedMaps(spec, "observerSchema") {
		if manifest.NestedString(entry, "kind") == kind && manifest.NestedString(entry, "metadata", "name") == name {
			return true
		}
	}
	for _, entry := range manifest.NestedMaps(spec, "fields") {
		named, err := path.Match(manifest.NestedString(entry, "resource", "name"), name)
		if err == nil && named && manifest.NestedString(entry, "resource", "kind") == kind {
			return true
		}
	}
	return false
}

// AddEntry adds a schema to spec.observerSchema. The value must have a spec, which TheApplication has checked.
func (a *EditedApplication) AddEntry(entry map[string]any) {
	spec, _ := a.Value["spec"].(map[string]any)
	entries, _ := spec["observerSchema"].([]any)
	spec["observerSchema"] = append(entries, entry)
}
