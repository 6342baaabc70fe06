package manifest

import (
	"cmp"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Object is one normalized manifest of an Application. Code that holds an Object must not change Content, because plans
// and records share it.
type Object struct {
	ID ID
	// APIVersion is the apiVersion of the manifest.
	APIVersion string
	// Ownership is the value of the annotation holdfast.dev/ownership, which is not part of Content. It is
	// empty if the annotation is not set.
	Ownership v1alpha1.Ownership
	// Position is the index in spec.manifest, or in Field.
	Position int
	// Field is the path of the list that contains the object. It is nil for spec.manifest.
	Field Path
	// Content is the manifest without nulls. It consists of map[string]any, []any, string, int64, float64
	// and bool.
	Content map[string]any
}

// GVK returns the group, version and kind of the manifest.
func (o Object) GVK() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.ID.Kind)
}

// Options are the inputs of Normalize besides the manifests.
type Options struct {
	// Application is the Application of the manifests. Its namespace is the default for namespaced objects.
	Application types.NamespacedName
	// Scopes reports which kinds are namespaced. It defaults to BuiltinScopes. Unknown kinds count as namespaced,
	// unless a CustomResourceDefinition among the manifests defines their scope. A connected controller uses the scopes
	// of the API server.
	Scopes Scopes
	// Field is the path of the list of manifests for validation errors. It is nil for spec.manifest.
	Field Path
	// OwnsInput is true if the manifests are results of DecodeJSON that no other code uses. Then they are
	// modified, and become the objects.
	OwnsInput bool
}

// Normalize validates the manifests of an Application and returns them with their identities, in manifest
// order. The input is not modified or shared, unless OwnsInput is set.
//
// A warning names a dropped field and the reason. The error joins one *ValidationError for each problem, in manifest
// order; in this case no objects are returned. The rules are in docs/semantics.md, "Which object" and "Desired state".
// The order of the manifests has an effect only on positions, and on which of two identical ones is used.
func Normalize(manifests []map[string]any, opts Options) (objects []Object, warnings []*ValidationError, err error) {
	if opts.Scopes == nil {
		opts.Scopes = BuiltinScopes()
	}
	opts.Scopes = WithDefined(opts.Scopes, manifests)
	firsts := make(map[ID]*draft, len(manifests))
	objects = make([]Object, 0, len(manifests))
	var faults []error
	for position, manifest := range manifests {
		d := &draft{Options: opts, findings: findings{field: opts.Field, position: position}}
		d.normalize(manifest)
		switch {
		// Its errors are dropped, because the object is left out.
		case IsUnusedHook(d.content):
			d.leaveOut()
		case !d.checkTwin(firsts):
			objects = append(objects, d.object())
		}
		warnings = append(warnings, d.warnings...)
		faults = Collect(faults, d.sortedFaults()...)
	}
	if len(faults) > 0 {
		return nil, warnings, errors.Join(faults...)
	}
	return objects, warnings, nil
}

// draft is a manifest that is being normalized. The rules of normalize change it one after the other. Its methods are
// the rules. They add findings and go on, so that a user sees all mistakes at once.
type draft struct {
	Options
	findings

	// content is the copy that becomes Object.Content.
	content map[string]any
	// kind is zero until its fields have been validated.
	kind schema.GroupKind
	// ownership is the value of the annotation, which takeOwnership removes from content.
	ownership v1alpha1.Ownership
}

// findings are the warnings and errors about one manifest. A finding has the identity at the time, and sortedFaults
// completes it.
type findings struct {
	field    Path
	position int
	// id is zero until its fields have been validated.
	id ID
	// warnings and faults can be in any order: some are found in maps. sortedFaults sorts the faults.
	warnings []*ValidationError
	faults   []*ValidationError
}

// normalize applies all rules, and collects all errors. The order matters: the rules after identify need the
// identity, and takeOwnership must be after the checks of annotations.
//
//	copy                         nulls, types that JSON does not have
//	refuseList, identify         the shape, kind, name and namespace
//	refuseOwn, refuseLeaves      objects that an Application must not contain
//	drop…                        fields and annotations of a live object
//	check…, takeOwnership        labels, annotations, policies
//	foldStringData               Secrets
func (d *draft) normalize(manifest map[string]any) {
	d.copy(manifest)
	if d.refuseList() {
		return
	}
	d.identify()
	d.refuseOwn()
	d.refuseLeaves(manifest)
	d.dropServerFields()
	d.dropControllerAnnotations()
	d.checkTexts("labels", v1alpha1.LabelApplicationUID, v1alpha1.LabelHeld)
	d.checkTexts("annotations", v1alpha1.AnnotationTrackingID, v1alpha1.AnnotationAdopted, v1alpha1.AnnotationHolders)
	d.checkDeletionPolicy()
	d.takeOwnership()
	if IsSecret(d.kind) {
		d.foldStringData()
	}
}

// object returns the normalized object. It is valid only if there are no errors. The content is not copied again.
func (d *draft) object() Object {
	apiVersion, _ := d.content["apiVersion"].(string)
	return Object{ID: d.id, APIVersion: apiVersion, Ownership: d.ownership, Position: d.position, Field: d.Field, Content: d.content}
}

// fault adds an error at a path of the manifest; nil is the entire manifest.
func (f *findings) fault(path Path, message string) {
	f.faults = append(f.faults, &ValidationError{Field: f.field, Position: f.position, ID: f.id, Path: path, Message: message})
	if len(f.faults) == 50*MaxFaults {
		f.sort()
		f.faults = f.faults[:MaxFaults+1] // so that those in a map are the same each time
	}
}

func (f *findings) sort() {
	slices.SortStableFunc(f.faults, func(a, b *ValidationError) int {
		return cmp.Compare(a.Path.String(), b.Path.String())
	})
}

// warn adds a warning, which does not make the manifest invalid.
func (f *findings) warn(path Path, message string) {
	f.warnings = append(f.warnings, &ValidationError{Field: f.field, Position: f.position, ID: f.id, Path: path, Message: message})
}

// sortedFaults returns the errors in a stable order, because some were found by iterating over maps. It
// adds the identity of the object to errors that were found before it was known.
func (f *findings) sortedFaults() []error {
	f.sort()
	faults := make([]error, len(f.faults))
	for i, fault := range f.faults {
		fault.ID = f.id
		faults[i] = fault
	}
	return faults
}
