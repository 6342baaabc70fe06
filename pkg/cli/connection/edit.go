package connection

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// ListEdit is a change of a list in the spec of an Application.
type ListEdit struct {
	// Key is the name of the list in the spec, for example fields.
	Key string
	// Before and After are the JSON values of the list. An empty After removes it.
	Before, After []any
	// Patch makes the same change, and tests that the list is still Before.
	Patch []delta.Op
}

// Edit writes a list to the spec of an Application, and returns the changed Application. It returns an
// error if another client has changed the list since Before was read.
//
// If the list was submitted, Edit applies the submitted fields again with the new list, so that the next
// submission causes no conflict. Otherwise it sends the patch, so that a submission of a file without the
// list does not remove it.
//
//	managedFields of the list   request                             conflict with another edit
//	applied by holdfast-cli     apply of all submitted fields       409: read and try again, up to mostEdits
//	any other, or none          JSON Patch that tests the old list  422: the error
func (c *Cluster) Edit(ctx context.Context, name string, edit ListEdit) (*unstructured.Unstructured, error) {
	key := edit.Key
	client := c.Own.Resource(Applications).Namespace(c.Namespace)
	for attempt := 1; ; attempt++ {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, c.Explained(err, "get", "Application "+c.Namespace+"/"+name)
		}
		// Before that, a created Application has no submitted fields.
		if live, err = takeOver(ctx, client, live); err != nil {
			return nil, c.Explained(err, "patch", "Application "+c.Namespace+"/"+name)
		}
		now, _, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", key)
		if list, _ := now.([]any); slices.ContainsFunc(list, isInSlices) {
			return nil, fmt.Errorf("spec.%s of Application %s/%s is in ApplicationSlices: change your files, and submit them again", key, c.Namespace, name)
		}
		applied := submitted(live, key)
		if applied == nil {
			return c.Patch(ctx, name, types.JSONPatchType, edit.Patch, Send)
		}
		if !observer.Equal(now, edit.Before) {
			return nil, fmt.Errorf("another client has changed spec.%s of Application %s/%s: run the command again", key, c.Namespace, name)
		}
		applied["apiVersion"], applied["kind"] = live.GetAPIVersion(), live.GetKind()
		metadata := manifest.EnsureMap(applied, "metadata")
		metadata["name"] = name
		// With the resourceVersion, the API server rejects the apply if another client has changed the
		// Application since.
		metadata["resourceVersion"] = live.GetResourceVersion()
		spec := manifest.EnsureMap(applied, "spec")
		// An apply without the list removes it. An empty list would remain in the spec.
		if spec[key] = edit.After; len(edit.After) == 0 {
			delete(spec, key)
		}
		changed, err := ApplyOne(ctx, client, name, applied, Send, true)
		if !apierrors.IsConflict(err) || attempt == mostEdits {
			return changed, c.Explained(err, "patch", "Application "+c.Namespace+"/"+name)
		}
	}
}

// isInSlices reports whether an element of a list in the spec refers to slices, which contain the elements.
func isInSlices(item any) bool {
	element, _ := item.(map[string]any)
	return element["slices"] != nil
}

// submitted returns a copy of the submitted fields of an Application, or nil if the list at key in its spec is not
// one of them. It finds them in the managedFields of the command line. An apply must contain all fields of an
// earlier apply, because the API server removes the others. managedFields has their paths, and the live object their
// values.
func submitted(live *unstructured.Unstructured, key string) map[string]any {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != fieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil || !set.Has(fieldpath.MakePathOrDie("spec", key)) {
			continue
		}
		value, err := typed.DeducedParseableType.FromUnstructured(live.Object)
		if err != nil {
			continue
		}
		if content, ok := value.ExtractItems(set.Leaves()).AsValue().Unstructured().(map[string]any); ok {
			return observer.CopyMap(content)
		}
	}
	return nil
}
