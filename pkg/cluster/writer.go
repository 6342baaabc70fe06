package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Writer writes as one ServiceAccount. There is no other way to write the
// objects of an Application.
type Writer struct {
	client  dynamic.Interface
	rest    rest.Interface
	user    string
	manager string
}

// As returns the writer for a ServiceAccount. It refuses an empty name, for which no
// header would be sent and the controller's own rights would count; and a name that no
// ServiceAccount can have, which would be that of a user.
func (c *Client) As(namespace, serviceAccount string) (*Writer, error) {
	if namespace == "" || serviceAccount == "" {
		return nil, errors.New("a write needs a ServiceAccount and its namespace")
	}
	if !IsServiceAccount(serviceAccount) || !isNamespace(namespace) {
		return nil, fmt.Errorf("%.253q in namespace %.63q cannot be the name of a ServiceAccount: it is lower-case letters, digits, '-' and '.', like deployer",
			serviceAccount, namespace)
	}
	return &Writer{client: c.writes, rest: c.writesRaw, user: "system:serviceaccount:" + namespace + ":" + serviceAccount, manager: v1alpha1.FieldManager}, nil
}

// Managed is the writer under the name of another field manager.
func (w *Writer) Managed(by string) *Writer {
	managed := *w
	managed.manager = by
	return &managed
}

// IsServiceAccount reports whether a ServiceAccount can have that name.
func IsServiceAccount(name string) bool {
	return len(name) <= validation.DNS1123SubdomainMaxLength && len(validation.IsDNS1123Subdomain(name)) == 0
}

func isNamespace(name string) bool {
	return len(name) <= validation.DNS1123LabelMaxLength && len(validation.IsDNS1123Label(name)) == 0
}

// User is the name that the API server knows the writer by.
func (w *Writer) User() string { return w.user }

// Create creates an object and returns what the API server made of it.
func (w *Writer) Create(ctx context.Context, at Location, body map[string]any) (map[string]any, error) {
	object := &unstructured.Unstructured{Object: body}
	created, err := w.resource(at).Create(w.in(ctx), object, metav1.CreateOptions{FieldManager: w.manager})
	return content(created), err
}

// Patch applies a JSON Patch (RFC 6902) and returns the object after it.
func (w *Writer) Patch(ctx context.Context, at Location, ops any) (map[string]any, error) {
	return w.patch(ctx, at, ops, metav1.PatchOptions{FieldManager: w.manager})
}

// TryPatch asks whether a patch would be accepted. Nothing is changed.
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

// Get reads an object with the ServiceAccount's rights, managedFields included.
func (w *Writer) Get(ctx context.Context, at Location) (map[string]any, error) {
	object, err := w.resource(at).Get(w.in(ctx), at.ID.Name, metav1.GetOptions{})
	return content(object), err
}

// MayList asks for one object of a range with the ServiceAccount's rights: who may list may
// read them all, those that are to come, too.
func (w *Writer) MayList(ctx context.Context, mapping Mapping, r Range) error {
	options := metav1.ListOptions{Limit: 1, LabelSelector: r.Labels}
	if r.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, r.Name).String()
	}
	_, err := in(w.client.Resource(mapping.Resource), r.Namespace).List(w.in(ctx), options)
	return err
}

// Delete deletes the object with that UID and no other, in that version: in a later one
// it may be another owner's. It returns what is left of it while a finalizer or a grace
// period holds it, and nil if it is gone: at once, or before we came. An object of that
// name with another UID or version is a conflict.
func (w *Writer) Delete(ctx context.Context, at Location, uid, resourceVersion string) (remaining map[string]any, err error) {
	background := metav1.DeletePropagationBackground
	precondition := types.UID(uid)
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background,
		Preconditions:     &metav1.Preconditions{UID: &precondition, ResourceVersion: &resourceVersion},
	})
	if err != nil {
		return nil, err
	}
	// Not the dynamic client, which drops the response.
	result := w.rest.Delete().AbsPath(at.path()...).Body(body).
		SetHeader("Content-Type", "application/json").Do(w.in(ctx))
	if err := result.Error(); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	raw, err := result.Raw()
	if err != nil {
		return nil, err
	}
	return remains(raw, uid)
}

// remains reads the response to a delete: the object, if it still exists, or a
// Status. Some built-in kinds answer with the object although it is gone; only
// what is marked as being deleted is still there.
func remains(raw []byte, uid string) (map[string]any, error) {
	object, err := manifest.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the answer to a delete: %w", err)
	}
	u := unstructured.Unstructured{Object: object}
	if u.GetKind() == "Status" || string(u.GetUID()) != uid || u.GetDeletionTimestamp() == nil {
		return nil, nil
	}
	return object, nil
}

func (w *Writer) resource(at Location) dynamic.ResourceInterface {
	resource := w.client.Resource(at.Mapping.Resource)
	if at.Mapping.Namespaced {
		return resource.Namespace(at.ID.Namespace)
	}
	return resource
}

// Location is where an object is.
type Location struct {
	ID      manifest.ID
	Mapping Mapping
	// Shared is true for an object that is another owner's: it is read and patched, and
	// never created or deleted.
	Shared bool
	// ReadOnly is true where nothing is written at all.
	ReadOnly bool
}

// path is the URL path of the object.
func (l Location) path() []string {
	path := []string{"/api", l.Mapping.Resource.Version}
	if l.Mapping.Resource.Group != "" {
		path = []string{"/apis", l.Mapping.Resource.Group, l.Mapping.Resource.Version}
	}
	if l.Mapping.Namespaced {
		path = append(path, "namespaces", l.ID.Namespace)
	}
	return append(path, l.Mapping.Resource.Resource, l.ID.Name)
}

func content(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

type userKey struct{}

func (w *Writer) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, userKey{}, w.user)
}

// impersonator sends every request as the user of its context, and none
// without: a request that nobody stands for would have the controller's rights.
type impersonator struct{ next http.RoundTripper }

func (t impersonator) RoundTrip(request *http.Request) (*http.Response, error) {
	user, ok := request.Context().Value(userKey{}).(string)
	if !ok || user == "" {
		return nil, fmt.Errorf("refused to send %s %s without a ServiceAccount to act as", request.Method, request.URL.Path)
	}
	request = request.Clone(request.Context())
	request.Header.Set(transport.ImpersonateUserHeader, user)
	return t.next.RoundTrip(request)
}
