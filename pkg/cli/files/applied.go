package files

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// asApplied gives an Application whose template only the controller can translate
// what was last applied of it as its manifests. Values of Secrets, which no status
// has, are free.
func (app Subject) asApplied() Subject {
	status := app.Status
	applied := app.DeepCopy()
	applied.Spec.Tosca, applied.Spec.CSAR, applied.Spec.Hooks = nil, nil, nil
	applied.Spec.Manifest, applied.Spec.ObserverSchema = nil, nil
	for i, item := range status.LastAppliedManifest {
		content, err := manifest.DecodeJSON(item.Raw)
		if err != nil {
			continue
		}
		if id, ok := plan.Identify(content, app.Namespace, plan.Offline()); ok && manifest.IsSecret(id.GroupKind()) {
			delete(content, "data")
			applied.Status.LastAppliedManifest[i] = rawOf(content)
		}
		applied.Spec.Manifest = append(applied.Spec.Manifest, rawOf(content))
		if i < len(status.MangledObserverSchema) && !isDefault(status.Resources, content, app.Namespace) {
			applied.Spec.ObserverSchema = append(applied.Spec.ObserverSchema, status.MangledObserverSchema[i])
		}
	}
	return Subject{Application: applied, Document: app.Document}
}

// isDefault tells whether the inventory says that an object is held by the
// default schema.
func isDefault(resources []v1alpha1.ResourceStatus, content map[string]any, namespace string) bool {
	id, _ := plan.Identify(content, namespace, plan.Offline())
	for _, r := range resources {
		if of := plan.IDOf(r.ResourceReference); of.Name == id.Name && of.GroupKind() == id.GroupKind() {
			return r.Schema == v1alpha1.SchemaDefault
		}
	}
	return true
}

// rawOf is a JSON object as an Application has it.
func rawOf(content map[string]any) runtime.RawExtension {
	raw, err := json.Marshal(content)
	if err != nil {
		raw = []byte("null")
	}
	return runtime.RawExtension{Raw: raw}
}
