package mysql

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/template"
)

// Template renders an Application for each Mysql. Package builtin registers it. It has no state.
type Template struct{}

var _ template.Template = Template{}

// Kind implements template.Template.
func (Template) Kind() template.Kind {
	return template.Kind{
		GroupVersionKind: v1.GroupVersionKind, Resource: v1.Resource,
		Kept: "Its volume and credentials are kept, unless its deletionPolicy is Delete",
	}
}

// Render implements template.Template. It rejects a spec that does not fit the existing volume. The error joins
// *template.ValidationErrors. The schema of each object observes all fields of its manifest that are not free.
func (Template) Render(in template.Input) (template.RenderedTemplate, error) {
	object, unknown, err := decode(in.Object)
	if err != nil {
		return template.RenderedTemplate{}, err
	}
	d, err := newDatabase(object)
	if err != nil {
		return template.RenderedTemplate{}, err
	}
	if err := d.checkData(in.Live, object.Status.Version); err != nil {
		return template.RenderedTemplate{}, err
	}
	rendered := template.RenderedTemplate{
		Unknown:            unknown,
		ServiceAccountName: object.Spec.ServiceAccountName,
		Adoption:           v1alpha1.AdoptIfUnowned, // adopts the volume and the Secret of a previous Mysql
		DeletionPolicy:     v1alpha1.DeletionDelete, // unless an object has its own policy
	}
	// The volume of an earlier Mysql determines which versions and sizes are valid: see checkData.
	rendered.Kept = []map[string]any{d.volume()}
	// In creation order.
	rendered.Manifests = []map[string]any{d.secret(), d.configMap(), d.volume(), d.headlessService(), d.clientService(), d.statefulSet()}
	// All objects have the same labels.
	rendered.Labels = (&unstructured.Unstructured{Object: rendered.Manifests[0]}).GetLabels()
	for _, manifest := range rendered.Manifests {
		// Immutable fields of the volume are free, so that an existing one with another class or access mode can be
		// adopted. The other objects have no such fields.
		rendered.Schema = append(rendered.Schema, template.Observe(manifest, "spec.accessModes", "spec.storageClassName"))
	}
	return rendered, nil
}
