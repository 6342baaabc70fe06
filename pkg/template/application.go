package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// FieldManager is the field manager of the template controller for Applications and the status of custom
// resources.
const FieldManager = "holdfast-templates"

// Application returns the Application of a custom resource. Its name and namespace are the same. If the
// resource has a UID, a controller reference names it. The labels of the resource are copied, so that a
// controller with a label selector sees both or none.
func (r RenderedTemplate) Application(object map[string]any) (*v1alpha1.Application, error) {
	owner := unstructured.Unstructured{Object: object}
	labels := map[string]string{}
	maps.Copy(labels, owner.GetLabels())
	maps.Copy(labels, r.Labels) // these have precedence
	app := &v1alpha1.Application{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: owner.GetNamespace(), Labels: labels},
		Spec: v1alpha1.ApplicationSpec{
			ServiceAccountName: r.ServiceAccountName,
			Adoption:           cmp.Or(r.Adoption, v1alpha1.AdoptNever),
			DeletionPolicy:     cmp.Or(r.DeletionPolicy, v1alpha1.DeletionDelete),
		},
	}
	if owner.GetUID() != "" {
		app.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&owner, owner.GroupVersionKind())}
	}
	var err error
	if app.Spec.Manifest, err = raw(r.Manifests); err != nil {
		return nil, fmt.Errorf("rendering the manifests of %s: %w", owner.GetName(), err)
	}
	if app.Spec.ObserverSchema, err = raw(r.Schema); err != nil {
		return nil, fmt.Errorf("rendering the observer schema of %s: %w", owner.GetName(), err)
	}
	return app, nil
}

// raw encodes objects as the API types store them.
func raw(objects []map[string]any) ([]runtime.RawExtension, error) {
	items := make([]runtime.RawExtension, len(objects))
	for i, object := range objects {
		content, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		items[i].Raw = content
	}
	return items, nil
}

// IsOwner reports whether a custom resource is the controller of an Application. A previous resource of the
// same name has another UID.
func IsOwner(object map[string]any, app *v1alpha1.Application) bool {
	owner := unstructured.Unstructured{Object: object}
	return metav1.IsControlledBy(app, &owner)
}
