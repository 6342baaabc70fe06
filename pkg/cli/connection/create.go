package connection

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
)

// creator is the field manager of a create request. Except for the fields that the controller would have written,
// takeOver converts its fields to fields that fieldManager applied. It differs from fieldManager, because the API
// server would otherwise merge the entries of the create and of later updates by this program.
const creator = fieldManager + "-create"

// ApplierName is the name of the ServiceAccount that acts for Applications that name none.
const ApplierName = "holdfast-applier"

// serviceAccounts is the resource of ServiceAccounts.
var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// create stores an Application that does not exist yet. If the ServiceAccount that acts for it exists, create
// adds the finalizer and the write-ahead annotations that the controller would write first. Without the
// ServiceAccount, the Application is not held, or perhaps no controller reconciles it; then no controller
// would remove the finalizer.
//
// The request is a create and not an apply, because the next apply would remove this metadata, or write it to
// an Application that is being deleted.
func (c *submitter) create(ctx context.Context, content map[string]any) (*unstructured.Unstructured, error) {
	s := c.submission
	account := cmp.Or(s.App.Spec.ServiceAccountName, ApplierName)
	// An error, such as a missing right, is treated like a missing ServiceAccount: the controller then
	// writes the record.
	if _, err := c.Own.Resource(serviceAccounts).Namespace(s.Namespace).Get(ctx, account, metav1.GetOptions{}); err == nil {
		content = s.WithAhead(content)
	}
	return c.applications.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{
		FieldManager: creator, FieldValidation: metav1.FieldValidationStrict,
	})
}

// takeOver changes the managedFields of a created Application as if it had been applied, and returns it. To apply it
// again instead would cause a conflict, and would not remove any fields. It sends no request if there are no created
// fields. If other clients change the Application at the same time, it reads it and tries again. Only the field
// manager and the operation of an entry change, from an Update by creator to an Apply by fieldManager. The API
// server accepts a write of metadata.managedFields from any client that may patch the object.
func takeOver(ctx context.Context, client dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for attempt := 1; ; attempt++ {
		managers, err := takenOver(live.GetManagedFields())
		if managers == nil || err != nil {
			return live, err
		}
		body, err := metadataPatch(live, managers)
		if err != nil {
			return nil, err
		}
		name := live.GetName()
		taken, err := client.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
		if !apierrors.IsConflict(err) || attempt == mostEdits {
			return taken, err
		}
		if live, err = client.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
}

// metadataPatch returns a merge patch that replaces the managedFields of exactly this version of an
// object. With another UID or resourceVersion, the API server rejects it with a conflict.
func metadataPatch(live *unstructured.Unstructured, managers []metav1.ManagedFieldsEntry) ([]byte, error) {
	patch := &unstructured.Unstructured{Object: map[string]any{}}
	patch.SetUID(live.GetUID())
	patch.SetResourceVersion(live.GetResourceVersion())
	patch.SetManagedFields(managers)
	return json.Marshal(patch.Object)
}

// takenOver returns the managedFields of an Application after its created fields became applied fields.
// Fields that were applied before are merged with them. It returns nil if there are no created fields, or
// if takeOver has already converted them.
//
//	before                                    after
//	holdfast-cli-create Update                holdfast-cli Apply
//	the same, and also a holdfast-cli Apply   one holdfast-cli Apply with the fields of both
//	entries of other managers                 unchanged
func takenOver(entries []metav1.ManagedFieldsEntry) ([]metav1.ManagedFieldsEntry, error) {
	applied := &fieldpath.Set{}
	var others []metav1.ManagedFieldsEntry
	var created *metav1.ManagedFieldsEntry
	for _, entry := range entries {
		isOurs := entry.Subresource == "" && entry.FieldsV1 != nil
		isCreated := isOurs && entry.Manager == creator
		if !isCreated && (!isOurs || entry.Manager != fieldManager || entry.Operation != metav1.ManagedFieldsOperationApply) {
			others = append(others, entry)
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading the managedFields of the Application: %w", err)
		}
		if isCreated {
			created = &entry
			// A create owns the maps and lists, too. An apply owns only the leaves that it sent. The
			// controller's fields must have no applied owner, because the next submission would remove
			// them.
			set = set.Leaves().Difference(written())
		}
		applied = applied.Union(set)
	}
	if created == nil {
		return nil, nil
	}
	created.Manager, created.Operation = fieldManager, metav1.ManagedFieldsOperationApply
	raw, err := applied.ToJSON()
	if err != nil {
		return nil, err
	}
	created.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return append(others, *created), nil
}

// written returns the fields that the controller would have written if the create request did not have
// them: the finalizer and the write-ahead record.
func written() *fieldpath.Set {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface(v1alpha1.Finalizer)))
	for _, key := range files.Ahead {
		set.Insert(fieldpath.MakePathOrDie("metadata", "annotations", key))
	}
	return set
}

// onlyOurs reports whether an apply is rejected only because of created fields, which a dry run does not
// take over. It returns false for any other error, and for nil.
func onlyOurs(err error) bool {
	status, is := err.(apierrors.APIStatus)
	if !is || !apierrors.IsConflict(err) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict && !strings.HasPrefix(cause.Message, `conflict with "`+creator+`"`) {
			return false
		}
	}
	return true
}

// mostEdits is how often a change is tried if other clients change the object at the same time.
const mostEdits = 5

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// Namespace returns a Namespace as it is created.
func Namespace(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
}

// CreateNamespace creates a namespace if it does not exist, and reports whether it has created it. A user who may
// not read the namespace may still create it. A namespace that is being deleted counts as existing. The next request
// that creates an object in it then fails.
func (c *Client) CreateNamespace(ctx context.Context, name string, dryRun DryRun) (created bool, err error) {
	client := c.Own.Resource(namespaces)
	_, err = client.Get(ctx, name, metav1.GetOptions{})
	if err == nil || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return false, c.Explained(err, "get", "Namespace "+name)
	}
	_, err = client.Create(ctx, Namespace(name), metav1.CreateOptions{FieldManager: fieldManager, DryRun: dryRun.Options()})
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	return err == nil, c.Explained(err, "create", "Namespace "+name)
}
