package mysql

import (
	"holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/template"
)

// Template makes an Application of each Mysql.
type Template struct{}

var _ template.Template = Template{}

// Kind implements template.Template.
func (Template) Kind() template.Kind {
	return template.Kind{GroupVersionKind: v1.GroupVersionKind, Resource: v1.Resource}
}

// Render implements template.Template. It refuses a volume that would have to
// shrink, if the present one is among the live objects.
func (Template) Render(in template.Input) (template.Rendered, error) {
	object, unknown, err := decode(in.Object)
	if err != nil {
		return template.Rendered{}, err
	}
	d, err := newDatabase(object)
	if err != nil {
		return template.Rendered{}, err
	}
	if err := d.fits(in.Live); err != nil {
		return template.Rendered{}, err
	}
	rendered := template.Rendered{
		Labels:             textOf(d.labels()),
		Unknown:            unknown,
		ServiceAccountName: object.Spec.ServiceAccountName,
		Adoption:           v1alpha1.AdoptIfUnowned, // of the volume and the Secret that an earlier one has left
		DeletionPolicy:     v1alpha1.DeletionDelete, // but for what says otherwise itself
	}
	for _, o := range d.objects() {
		rendered.Manifests = append(rendered.Manifests, o.manifest)
		rendered.Schema = append(rendered.Schema, template.Observe(o.manifest, o.free...))
	}
	return rendered, nil
}

// object is a manifest, and the fields of it that nobody holds.
type object struct {
	manifest values
	free     []string
}

// objects are all objects of a database, in the order in which they are made.
func (d *database) objects() []object {
	return []object{
		{manifest: d.secret()},
		{manifest: d.configMap()},
		// What cannot be changed is not held either, so that a volume of another
		// class or access mode can be taken over.
		{manifest: d.volume(), free: []string{"spec.accessModes", "spec.storageClassName"}},
		{manifest: d.headlessService()},
		{manifest: d.clientService()},
		{manifest: d.statefulSet()},
	}
}
