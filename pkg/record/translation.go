package record

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Translation returns the last translation from the status, for a controller that starts while the source is not
// available. It returns nil unless the status contains the complete translation: the current spec was held, and no
// change was pending. Objects of a later translation are not deleted because of it. Values of Secrets are
// taken from the live objects.
func Translation(app *v1alpha1.Application) *intent.Source {
	held := apimeta.FindStatusCondition(app.Status.Conditions, v1alpha1.ConditionHeld)
	if held == nil || held.Status != "True" || held.ObservedGeneration != app.Generation ||
		app.Status.SourceDigest == "" || len(app.Status.LastAppliedManifest) != len(app.Status.Resources) {
		return nil
	}
	source := &intent.Source{Restored: true, Objects: []map[string]any{}}
	for i, item := range app.Status.LastAppliedManifest {
		content, err := manifest.DecodeRaw(item)
		// The lists are parallel if they have the same length, and each record is checked against its inventory entry.
		of := app.Status.Resources[i].ResourceReference
		if err != nil || content["apiVersion"] != of.APIVersion || content["kind"] != of.Kind || manifest.NestedString(content, "metadata", "name") != of.Name {
			return nil
		}
		if of.Kind == "Secret" && of.Name == hooks.SecretName(app) && len(hooks.Purposes(app)) > 0 {
			continue // the hooks add it again
		}
		source.Objects = append(source.Objects, content)
	}
	return source
}
