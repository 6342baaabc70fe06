package files

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// asApplied returns a copy of the Application with its last-applied state as manifests. It is for a template that
// only the controller can translate, or for hooks that only the controller has. Values of Secrets are free, because
// no status contains them. The result is an Application with manifests, and the schemas of the user. Schemas that
// the engine derives are derived again.
func (app Subject) asApplied() Subject {
	status := app.Status
	applied := app.DeepCopy()
	// The manifests are the result of the source and the hooks, which must not be applied again.
	applied.Spec.Tosca, applied.Spec.CSAR, applied.Spec.Hooks = nil, nil, nil
	applied.Spec.Manifest, applied.Spec.ObserverSchema = nil, nil
	applied.Status.Hooks = nil // the hooks have changed these manifests already
	for i, item := range status.LastAppliedManifest {
		content, err := manifest.DecodeJSON(item.Raw)
		// A pruned object would become desired again.
		if err != nil || isPruned(status, content, app.Namespace) {
			continue
		}
		if id, ok := manifest.Identify(content, app.Namespace, intent.Offline()); ok && manifest.IsSecret(id.GroupKind()) {
			delete(content, "data")
			applied.Status.LastAppliedManifest[i] = manifest.EncodeRaw(content)
		}
		applied.Spec.Manifest = append(applied.Spec.Manifest, manifest.EncodeRaw(content))
		// Both lists have the same order. A default schema is left out, because the plan computes it again.
		if i < len(status.MangledObserverSchema) && !isDefault(status.Resources, content, app.Namespace) {
			applied.Spec.ObserverSchema = append(applied.Spec.ObserverSchema, status.MangledObserverSchema[i])
		}
	}
	return Subject{Application: applied, Document: app.Document}
}

// isDefault reports whether, according to the inventory, no schema in spec.observerSchema holds the object.
func isDefault(resources []v1alpha1.ResourceStatus, content map[string]any, namespace string) bool {
	id, _ := manifest.Identify(content, namespace, intent.Offline())
	for _, r := range resources {
		if sameName(manifest.IDFromReference(r.ResourceReference), id) {
			return r.Schema != v1alpha1.SchemaUser // spec.fields still applies
		}
	}
	return true
}

// isPruned reports whether the last-applied state contains an object only until its deletion begins. The inventory
// marks such an object as pruned, and the last observed state does not contain it. The last-applied state keeps a
// resource until its deletion begins, so that a restart of the controller can finish a prune.
func isPruned(status v1alpha1.ApplicationStatus, content map[string]any, namespace string) bool {
	id, _ := manifest.Identify(content, namespace, intent.Offline())
	if !slices.ContainsFunc(status.Resources, func(r v1alpha1.ResourceStatus) bool {
		return v1alpha1.InfoForReason(r.Reason).Pruned && sameName(manifest.IDFromReference(r.ResourceReference), id)
	}) {
		return false
	}
	return !slices.ContainsFunc(status.LastObservedManifest, func(item runtime.RawExtension) bool {
		observed, err := manifest.DecodeJSON(item.Raw)
		of, ok := manifest.Identify(observed, namespace, intent.Offline())
		return err == nil && ok && sameName(of, id)
	})
}

// sameName compares IDs without namespaces, because it may be unknown here whether a kind is namespaced.
func sameName(a, b manifest.ID) bool { return a.Name == b.Name && a.GroupKind() == b.GroupKind() }
