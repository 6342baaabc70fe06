package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Writer writes as one ServiceAccount. All writes to objects of an Application use it. It is immutable, and can be
// used from any goroutine. It returns the errors of the API server.
type Writer struct {
	// client and rest impersonate the user in the context of each request.
	client dynamic.Interface
	rest   rest.Interface
	// user is the impersonated user name. manager is the field manager.
	user    string
	manager string
}

// WriterFor returns the writer for a ServiceAccount. It rejects an empty name, because without an
// impersonation header the request would have the controller's own permissions. It also rejects names that
// no ServiceAccount can have, because they could be names of users.
func (c *Client) WriterFor(namespace, serviceAccount string) (*Writer, error) {
	if namespace == "" || serviceAccount == "" {
		return nil, errors.New("a write needs a ServiceAccount and its namespace")
	}
	if !IsServiceAccount(serviceAccount) || !isNamespace(namespace) {
		return nil, fmt.Errorf("%.253q in namespace %.63q is not a valid name of a ServiceAccount: use lower-case letters, digits, '-' and '.', for example deployer",
			serviceAccount, namespace)
	}
	return &Writer{client: c.writes, rest: c.writesRaw, user: "system:serviceaccount:" + namespace + ":" + serviceAccount, manager: v1alpha1.FieldManager}, nil
}

// WithFieldManager returns a writer with another field manager.
func (w *Writer) WithFieldManager(by string) *Writer {
	managed := *w
	managed.manager = by
	return &managed
}

// User returns the user name of the ServiceAccount.
func (w *Writer) User() string { return w.user }

// Create creates an object and returns the stored one, with managedFields. It does not change body.
func (w *Writer) Create(ctx context.Context, at Location, body map[string]any) (map[string]any, error) {
	object := &unstructured.Unstructured{Object: body}
	created, err := w.resource(at).Create(w.in(ctx), object, metav1.CreateOptions{FieldManager: w.manager})
	return content(created), err
}

// Patch applies a JSON Patch (RFC 6902) and returns the stored object, with managedFields. A failed test operation is
// a 422, as is an invalid object.
func (w *Writer) Patch(ctx context.Context, at Location, ops any) (map[string]any, error) {
	return w.patch(ctx, at, ops, metav1.PatchOptions{FieldManager: w.manager})
}

// TryPatch sends a patch as a server-side dry run. Admission and validation run; nothing is stored.
func (w *Writer) TryPatch(ctx context.Context, at Location, ops any) error {
	_, err := w.patch(ctx, at, ops, metav1.PatchOptions{FieldManager: w.manager, DryRun: []string{metav1.DryRunAll}})
	return err
}

func (w *Writer) patch(ctx context.Context, at Location, ops any, options metav1.PatchOptions) (map[string]any, error) {
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, fmt.Errorf("writing the patch of %s: %w", at.ID, err)
	}
	patched, err := w.resource(at).Patch(w.in(ctx), at.ID.Name, types.JSONPatchType, body, options)
	return content(patched), err
}

// Get reads an object, including managedFields, with the permissions of the ServiceAccount.
func (w *Writer) Get(ctx context.Context, at Location) (map[string]any, error) {
	object, err := w.resource(at).Get(w.in(ctx), at.ID.Name, metav1.GetOptions{})
	return content(object), err
}

// MayList reads one object of a range to check the permission of the ServiceAccount to list it. This
// permission covers all objects of the range, including future ones.
func (w *Writer) MayList(ctx context.Context, mapping Mapping, r ObjectRange) error {
	options := metav1.ListOptions{Limit: 1, LabelSelector: r.Labels}
	if r.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String()
	}
	_, err := inNamespace(w.client.Resource(mapping.Resource), r.Namespace).List(w.in(ctx), options)
	return err
}

// Delete deletes the object with that UID and version; a later version can belong to another owner. It
// returns the remaining object if a finalizer or a grace period delays the deletion, and nil if the object
// is gone, even if it was gone before. An object of that name with another UID or version is a conflict.
func (w *Writer) Delete(ctx context.Context, at Location, uid, resourceVersion string) (remaining map[string]any, err error) {
	background := metav1.DeletePropagationBackground
	// Without it, an object of the same name that another client has created since could be deleted.
	precondition := types.UID(uid)
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background,
		Preconditions:     &metav1.Preconditions{UID: &precondition, ResourceVersion: &resourceVersion},
	})
	if err != nil {
		return nil, err
	}
	// The dynamic client drops the response.
	result := w.rest.Delete().AbsPath(at.path()...).Body(body).
		SetHeader("Content-Type", "application/json").Do(w.in(ctx))
	raw, err := rawJSON(result)
	if err != nil {
		return nil, notFoundIsNone(err)
	}
	return parseRemaining(raw, uid)
}

// parseRemaining parses the response to a delete: the object if it still exists, or a Status. Some built-in
// kinds return the object although it is deleted; only an object with a deletion timestamp still exists.
func parseRemaining(raw []byte, uid string) (map[string]any, error) {
	object, err := manifest.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the response to a delete: %w", err)
	}
	u := unstructured.Unstructured{Object: object}
	if u.GetKind() == "Status" || string(u.GetUID()) != uid || u.GetDeletionTimestamp() == nil {
		return nil, nil
	}
	return object, nil
}

// resource returns the client for the resource of an object, in its namespace if it has one.
func (w *Writer) resource(at Location) dynamic.ResourceInterface {
	resource := w.client.Resource(at.Mapping.Resource)
	if at.Mapping.Namespaced {
		return resource.Namespace(at.ID.Namespace)
	}
	return resource
}

// Location identifies an object.
type Location struct {
	ID      manifest.ID
	Mapping Mapping
	// Shared is true for a shared object. It is read and patched, but never created or deleted.
	Shared bool
	// ReadOnly is true if writes are not allowed.
	ReadOnly bool
}

// path returns the URL path of the object.
func (l Location) path() []string {
	path := []string{apiPath(l.Mapping.Resource.GroupVersion())}
	if l.Mapping.Namespaced {
		path = append(path, "namespaces", l.ID.Namespace)
	}
	return append(path, l.Mapping.Resource.Resource, l.ID.Name)
}

// content returns the content of an object; nil for nil, which a failed request returns. An object whose managedFields
// another client has emptied gets an empty list: unlike in an object from a watch, they are known.
func content(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	if metadata, _ := u.Object["metadata"].(map[string]any); metadata != nil && metadata["managedFields"] == nil {
		metadata["managedFields"] = []any{}
	}
	return u.Object
}

// in returns a context for requests as the ServiceAccount: see impersonator.
func (w *Writer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, w.user)
}
