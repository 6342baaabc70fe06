package files

import (
	"errors"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

// locatedManifest is a manifest, with its position in a file.
type locatedManifest struct {
	manifest.Document

	// at is the path of the manifest in the document; empty if the document is the manifest.
	at manifest.Path
	// value is nil if the item of spec.manifest is not a map.
	value map[string]any
}

// Normalized returns the documents as the manifests of an Application. An Application among them is replaced by
// its manifests. It knows only the built-in kinds. Each validation error has a position; the result then
// contains only the valid objects.
//
//	a.yaml:3:3: ...    a manifest
//	app.yaml:9:5: ...  a manifest of an Application
//
// The commands for authors use it. Commands that decide read Applications with Sources instead.
func Normalized(documents []manifest.Document) ([]manifest.Object, error) {
	var all []locatedManifest
	var faults []error
	for _, document := range documents {
		manifests, err := manifestsIn(document)
		all, faults = append(all, manifests...), append(faults, err)
	}
	raw := make([]map[string]any, len(all))
	for i, located := range all {
		raw[i] = located.value
	}
	// The scopes of custom kinds are unknown, so their namespaces remain as written.
	objects, _, err := manifest.Normalize(raw, manifest.Options{Scopes: manifest.BuiltinScopes()})
	sound := slices.Clone(raw)
	for _, fault := range terminal.Each(err) {
		if of, is := errors.AsType[*manifest.ValidationError](fault); is && of.Position < len(all) {
			located := all[of.Position]
			sound[of.Position] = nil
			fault = FaultAt(located.Document, append(located.at, of.Path...), fault.Error())
		}
		faults = append(faults, fault)
	}
	if err != nil {
		sound = slices.DeleteFunc(sound, func(m map[string]any) bool { return m == nil })
		// One invalid manifest rejects all of them, so the valid ones are normalized again.
		objects, _, _ = manifest.Normalize(sound, manifest.Options{Scopes: manifest.BuiltinScopes()})
	}
	return objects, errors.Join(faults...)
}

// manifestsIn returns a document, or its manifests if it is an Application. An Application with a template is an
// error.
func manifestsIn(document manifest.Document) ([]locatedManifest, error) {
	if !ofApplication(document.Value) {
		return []locatedManifest{{document, nil, document.Value}}, nil
	}
	if err := checkApplication(document); err != nil {
		return nil, err
	}
	spec, _ := document.Value["spec"].(map[string]any)
	for _, field := range []string{"tosca", "csar"} {
		if spec[field] != nil {
			return nil, FaultAt(document, manifest.Path{"spec", field}, "spec."+field+" has a template instead of manifests: to print its manifests, run: holdfast author translate")
		}
	}
	list, _ := spec["manifest"].([]any)
	manifests := make([]locatedManifest, len(list))
	for i, item := range list {
		value, _ := item.(map[string]any)
		manifests[i] = locatedManifest{document, manifest.Path{"spec", "manifest", i}, value}
	}
	return manifests, nil
}

// ofApplication reports whether an object is an Application, of any version.
func ofApplication(content map[string]any) bool {
	group, _, _ := strings.Cut(manifest.NestedString(content, "apiVersion"), "/")
	return group == v1alpha1.GroupVersion.Group && manifest.NestedString(content, "kind") == v1alpha1.Kind
}
