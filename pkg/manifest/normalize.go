package manifest

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Object is one normalized manifest of an Application.
type Object struct {
	ID ID
	// APIVersion is the group and version that the manifest is written in.
	APIVersion string
	// Ownership is what the manifest says of it (the annotation holdfast.dev/ownership,
	// which is not part of Content); empty if it says nothing.
	Ownership v1alpha1.Ownership
	// Position is the index in spec.manifest, or in Field.
	Position int
	// Field is the list that the object is from; nil for spec.manifest.
	Field Path
	// Content is the whole manifest, without nulls. It is made of
	// map[string]any, []any, string, int64, float64 and bool.
	Content map[string]any
}

// GVK is the group, version and kind that the manifest is written in.
func (o Object) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.ID.Kind)
}

// Options is what Normalize has to know besides the manifests.
type Options struct {
	// Application is the one that the manifests are of. Its namespace is that
	// of namespaced objects that name none.
	Application types.NamespacedName
	// Scopes says which kinds are namespaced; nil means BuiltinScopes. A kind
	// that is not known is taken as namespaced, unless a
	// CustomResourceDefinition among the manifests says otherwise.
	Scopes Scopes
	// Field is where faults say that the list of manifests is; nil for
	// spec.manifest.
	Field Path
	// Given says that the manifests are as DecodeJSON has made them, and nobody else's: they
	// are changed, and become the objects.
	Given bool
}

// Normalize checks the manifests of an Application and returns them with their
// identities, in manifest order. The input is not modified, nor shared, unless it is given
// away (see Options).
//
// A warning says what was dropped and why. The error joins one *Fault for each
// thing that is wrong, in manifest order; then no object is returned. The rules
// are those of docs/semantics.md, "Which object" and "Desired state".
func Normalize(manifests []map[string]any, opts Options) (objects []Object, warnings []*Fault, err error) {
	if opts.Scopes == nil {
		opts.Scopes = BuiltinScopes()
	}
	opts.Scopes = layers{opts.Scopes, definedScopes(manifests)}
	firsts := make(map[ID]*draft, len(manifests))
	objects = make([]Object, 0, len(manifests))
	var faults []error
	for position, manifest := range manifests {
		d := &draft{Options: opts, position: position}
		d.normalize(manifest)
		if !d.checkTwin(firsts) {
			objects = append(objects, d.object())
		}
		warnings = append(warnings, d.warnings...)
		faults = append(faults, d.sortedFaults()...)
	}
	if len(faults) > 0 {
		return nil, warnings, errors.Join(faults...)
	}
	return objects, warnings, nil
}

// draft is one manifest on its way to an Object.
type draft struct {
	Options

	position int
	content  map[string]any
	// kind and id are zero until what they are made of is found to be valid.
	kind schema.GroupKind
	id   ID
	// ownership is what the annotation says.
	ownership v1alpha1.Ownership

	warnings []*Fault
	faults   []*Fault
}

// normalize is the list of the rules.
func (d *draft) normalize(manifest map[string]any) {
	d.copy(manifest)
	if d.refuseList() {
		return
	}
	d.identify()
	d.refuseOwn()
	d.refuseLeaves(manifest)
	d.dropServerFields()
	d.checkTexts("labels", v1alpha1.LabelApplicationUID, v1alpha1.LabelHeld)
	d.checkTexts("annotations", v1alpha1.AnnotationTrackingID, v1alpha1.AnnotationAdopted, v1alpha1.AnnotationHolders)
	d.checkDeletionPolicy()
	d.takeOwnership()
	if IsSecret(d.kind) {
		d.foldStringData()
	}
}

func (d *draft) object() Object {
	apiVersion, _ := d.content["apiVersion"].(string)
	return Object{ID: d.id, APIVersion: apiVersion, Ownership: d.ownership, Position: d.position, Field: d.Field, Content: d.content}
}

func (d *draft) fault(path Path, message string) {
	d.faults = append(d.faults, &Fault{Field: d.Field, Position: d.position, ID: d.id, Path: path, Message: message})
}

func (d *draft) warn(path Path, message string) {
	d.warnings = append(d.warnings, &Fault{Field: d.Field, Position: d.position, ID: d.id, Path: path, Message: message})
}

// sortedFaults brings the faults, some found by walking maps, into one order,
// and names the object in those that were found before it was known.
func (d *draft) sortedFaults() []error {
	slices.SortStableFunc(d.faults, func(a, b *Fault) int {
		return cmp.Compare(a.Path.String(), b.Path.String())
	})
	faults := make([]error, len(d.faults))
	for i, fault := range d.faults {
		fault.ID = d.id
		faults[i] = fault
	}
	return faults
}
