package connection

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/observer"
)

// Edit writes a list to the spec of an Application. If the list was submitted, Edit applies the submitted
// fields again with the new list, so that the next submission causes no conflict. Otherwise it sends the
// patch, so that a submission of a file without the list does not remove it.
func (c *Cluster) Edit(ctx context.Context, name, key string, before, after []any, patch []delta.Op) error {
	client := c.Own.Resource(Applications).Namespace(c.Namespace)
	for attempt := 1; ; attempt++ {
		live, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return c.Explained(err, "get", "Application "+c.Namespace+"/"+name)
		}
		if live, err = c.takeOver(ctx, client, live); err != nil {
			return c.Explained(err, "patch", "Application "+c.Namespace+"/"+name)
		}
		applied := submitted(live, key)
		if applied == nil {
			return c.Patch(ctx, name, types.JSONPatchType, patch)
		}
		if now, _, _ := unstructured.NestedFieldNoCopy(live.Object, "spec", key); !observer.Equal(now, before) {
			return fmt.Errorf("another client has changed spec.%s of Application %s/%s: run the command again", key, c.Namespace, name)
		}
		applied["apiVersion"], applied["kind"] = live.GetAPIVersion(), live.GetKind()
		setIn(applied, name, "metadata", "name")
		setIn(applied, live.GetResourceVersion(), "metadata", "resourceVersion")
		setIn(applied, after, "spec", key)
		if len(after) == 0 {
			delete(applied["spec"].(map[string]any), key)
		}
		if _, err = c.ApplyOne(ctx, client, name, applied, false, true); !apierrors.IsConflict(err) || attempt == mostEdits {
			return c.Explained(err, "patch", "Application "+c.Namespace+"/"+name)
		}
	}
}

// submitted returns the submitted fields of an Application, or nil if the list at key in its spec is not one
// of them.
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

func setIn(object map[string]any, value any, parent, name string) {
	m, ok := object[parent].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[parent] = m
	}
	m[name] = value
}
