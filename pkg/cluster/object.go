package cluster

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Object is a live object as a Store keeps it: its JSON without managedFields, packed,
// which is a fiftieth of what the decoded object takes.
type Object struct {
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Application is the UID in our label, if there is one.
	Application types.UID
	// content is packed beside what is said above, and beside the manifests if it repeats them.
	content Packed
	// beside are the manifests that content was packed beside; nil for none.
	beside *Manifests
	// stamps are whose its managedFields are, and since when.
	stamps []stamp
}

// JSON is the object without managedFields.
func (o *Object) JSON() []byte { return new(Reader).JSON(o) }

// Content decodes the object; the caller owns the result.
func (o *Object) Content() map[string]any { return new(Reader).Content(o) }

// Manifests are those that the object was packed beside: its own, of an Application.
func (o *Object) Manifests() *Manifests { return o.beside }

// NewObject takes the managedFields out of what it is given.
func NewObject(u *unstructured.Unstructured) (*Object, error) { return newObject(u, nil) }

// newObject is NewObject, packed beside manifests that it may repeat; nil for none.
func newObject(u *unstructured.Unstructured, manifests *Manifests) (*Object, error) {
	stamps := stampsOf(managedFieldsOf(u.Object))
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	o := &Object{
		Key: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()},
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		Application: types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID]), stamps: stamps,
	}
	o.pack(raw, manifests)
	return o, nil
}

// identity is what is known of an object without its JSON, as that nearly always says it: of
// a small object it is most of the text.
func (o *Object) identity() []byte {
	text := fmt.Appendf(nil, `"metadata":{"annotations":{"%s":"%s/:%s/%s"},"creationTimestamp":"`,
		v1alpha1.AnnotationTrackingID, o.Key.Namespace, o.Key.Namespace, o.Key.Name)
	if o.Generation != 0 {
		text = fmt.Appendf(text, `Z","generation":%d`, o.Generation)
	}
	return fmt.Appendf(text, `Z","labels":{"%s":"%s"},"name":"%s","namespace":"%s","resourceVersion":"%s","uid":"%s"},"`,
		v1alpha1.LabelApplicationUID, o.Application, o.Key.Name, o.Key.Namespace, o.ResourceVersion, o.UID)
}

// Newer reports whether an object is a later state than b of the same object. A
// version that cannot be compared counts as newer, as it did before versions could be.
func (o *Object) Newer(b *Object) bool {
	order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, b.ResourceVersion)
	return err != nil || order > 0
}
