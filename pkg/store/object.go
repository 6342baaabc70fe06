package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Object is a live object in a Store: its compressed JSON without managedFields. It needs a fiftieth of the memory of
// the decoded object. It is immutable once it is in a Store.
type Object struct {
	Key             types.NamespacedName
	UID             types.UID
	ResourceVersion string
	Generation      int64
	// Application is the UID in the tracking label, or empty.
	Application types.UID
	// content is compressed relative to the fields above, and to manifests that it repeats.
	content Packed
	// beside contains the manifests that content refers to, or nil.
	beside *Manifests
	// stamps identify the managedFields entries and their times.
	stamps []managedFieldsStamp
}

// listedObject is an object of a list with its managedFields; see managedFieldsJSON.
type listedObject struct {
	*Object

	managed []byte
}

// Key returns the namespace and name of an object.
func Key(u metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
}

// objectBytes is the memory of an Object in a Store, without its content.
const objectBytes = 500

// AddBytes adds the memory of an object. Applications store the manifests that their objects refer to.
func (o *Object) AddBytes(sum map[string]int, namespace string) {
	sum[namespace] += objectBytes + len(o.content)
	if o.beside != nil && o.Application == "" {
		sum[namespace] += len(o.beside.content)
	}
}

// JSON returns the object without managedFields.
func (o *Object) JSON() []byte { return new(Reader).JSON(o) }

// Content decodes the object. The caller owns the result.
func (o *Object) Content() map[string]any { return new(Reader).Content(o) }

// Manifests returns the manifests that the object was compressed relative to, or nil. For an Application, these are
// its own.
func (o *Object) Manifests() *Manifests { return o.beside }

// NewObject returns an Object. It removes the managedFields from u, and does not retain u.
func NewObject(u *unstructured.Unstructured) (*Object, error) { return newObject(u, nil) }

// newObject returns an Object that is compressed relative to the manifests, which can be nil.
func newObject(u *unstructured.Unstructured, manifests *Manifests) (*Object, error) {
	// The stamps are small enough to keep for each object.
	stamps := stampsOf(managedFieldsOf(u.Object))
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	o := &Object{
		Key: Key(u),
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(), Generation: u.GetGeneration(),
		Application: types.UID(u.GetLabels()[v1alpha1.LabelApplicationUID]), stamps: stamps,
	}
	o.pack(raw, manifests)
	return o, nil
}

// pack compresses the JSON of an object, relative to the manifests if it repeats them. manifests can be nil. The
// fields that identity uses must be set.
func (o *Object) pack(text []byte, manifests *Manifests) {
	rest, _ := removeRepeats(text, o.identity(), 1)
	if manifests != nil && len(rest) >= minCompressedBytes && manifests.length >= len(rest)/4 {
		if less, worthIt := removeRepeats(rest, manifests.content.JSON(), blockBytes); worthIt {
			o.content, o.beside = Pack(less), manifests
			return
		}
	}
	// Without repetitions, the object must not keep the manifests in memory.
	o.content, o.beside = Pack(rest), nil
}

// sameAs reports whether two objects have the same version and JSON. It accepts a nil b.
func (o *Object) sameAs(b *Object) bool {
	if b == nil || o.UID != b.UID || o.ResourceVersion != b.ResourceVersion {
		return false
	}
	// An object that was compressed relative to other manifests has to be decompressed.
	return o.beside == b.beside && bytes.Equal(o.content, b.content) || bytes.Equal(o.JSON(), b.JSON())
}

// identity returns the JSON fields that most objects repeat from the fields of Object. They are most of the text of a
// small object. The result must not change between pack and JSON, because the content refers to it by position.
func (o *Object) identity() []byte {
	text := fmt.Appendf(nil, `"metadata":{"annotations":{"%s":"%s/:%s/%s"},"creationTimestamp":"`,
		v1alpha1.AnnotationTrackingID, o.Key.Namespace, o.Key.Namespace, o.Key.Name)
	if o.Generation != 0 {
		text = fmt.Appendf(text, `Z","generation":%d`, o.Generation)
	}
	return fmt.Appendf(text, `Z","labels":{"%s":"%s"},"name":"%s","namespace":"%s","resourceVersion":"%s","uid":"%s"},"`,
		v1alpha1.LabelApplicationUID, o.Application, o.Key.Name, o.Key.Namespace, o.ResourceVersion, o.UID)
}

// Newer reports whether o is a later state than b of the same object. A version that cannot be compared
// counts as newer, because old API servers have opaque versions.
func (o *Object) Newer(b *Object) bool {
	order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, b.ResourceVersion)
	return err != nil || order > 0
}

// Reader decompresses objects. It is fastest if objects of one Application are read in sequence, because it keeps the
// last Manifests uncompressed. It must not be used by two goroutines at the same time.
type Reader struct {
	// manifests are the last ones that were used, and text is their content.
	manifests *Manifests
	text      []byte
}

// JSON returns an object without managedFields.
func (r *Reader) JSON(o *Object) []byte {
	rest := o.content.JSON()
	if o.beside != nil {
		if r.manifests != o.beside {
			r.manifests, r.text = o.beside, o.beside.content.JSON()
		}
		rest = restoreRepeats(rest, r.text)
	}
	return restoreRepeats(rest, o.identity())
}

// Content decodes an object. The caller owns the result.
func (r *Reader) Content(o *Object) map[string]any {
	content, err := manifest.DecodeJSON(r.JSON(o))
	if err != nil {
		return nil // pack creates only valid JSON
	}
	return content
}
