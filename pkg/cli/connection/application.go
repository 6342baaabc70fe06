package connection

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/slice"
	"holdfast.dev/holdfast/pkg/source"
)

// submitted returns the stored Application with the spec of app, as it would be after a submission. before is a copy
// of the stored Application, or nil if there is none. A new Application gets a UID to which no object belongs. The
// result contains the stored status: the decision depends on its inventory and last-applied state.
func (c *Cluster) submitted(ctx context.Context, app files.Subject) (after files.Subject, before *v1alpha1.Application, err error) {
	stored, err := c.GetApplication(ctx, types.NamespacedName{Namespace: app.Namespace, Name: app.Name})
	switch {
	// NotFound has two causes, which only a second request distinguishes.
	case apierrors.IsNotFound(err) && !c.isInstalled(ctx):
		return app, nil, ErrNotInstalled
	case apierrors.IsNotFound(err):
		fresh := app.DeepCopy()
		fresh.UID = notSubmitted
		fresh.Status = v1alpha1.ApplicationStatus{}
		return files.Subject{Application: fresh, Document: app.Document}, nil, nil
	case err != nil:
		return app, nil, c.Explained(err, "get", "Application "+app.Namespace+"/"+app.Name)
	}
	before, other := stored.DeepCopy(), !source.IsSame(stored, app.Application)
	stored.Spec = *app.Spec.DeepCopy()
	stored.Generation++ // a new spec
	return files.Subject{Application: stored, Document: app.Document, NewSource: other}, before, nil
}

// Application reads an Application in the namespace of c, with the content of its slices. The error
// suggests another name if there is no such Application.
func (c *Cluster) Application(ctx context.Context, name string) (files.Subject, error) {
	app, err := c.GetApplication(ctx, types.NamespacedName{Namespace: c.Namespace, Name: name})
	if err != nil {
		return files.Subject{}, c.NoSuchApplication(ctx, c.Namespace, name, err)
	}
	// The typed client drops apiVersion and kind, and a command may print the Application.
	app.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.Kind}
	return files.Subject{Application: app, Document: storedDocument(app)}, nil
}

// ListApplications lists the Applications of a namespace, or of all namespaces if it is "". It does not join their
// slices. The error is explained; it is ErrNotInstalled if the API server does not serve Applications.
func (c *Client) ListApplications(ctx context.Context, namespace string, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list, err := c.Own.Resource(Applications).Namespace(namespace).List(ctx, options)
	what := "Applications"
	if namespace != "" {
		what += " in the namespace " + namespace
	}
	// For a namespace that does not exist, the list is empty.
	if apierrors.IsNotFound(err) {
		return nil, ErrNotInstalled
	}
	return list, c.Explained(err, "list", what)
}

// storedDocument returns a document for an Application that is in no file.
func storedDocument(app *v1alpha1.Application) manifest.Document {
	return manifest.Document{File: "application " + app.Namespace + "/" + app.Name}
}

// GetApplication reads an Application, and joins its slices. A missing slice is no error here; a decision about the
// Application reports it. It returns the error of the API server unchanged. It shadows the method of cluster.Client,
// which returns the references to slices.
func (c *Client) GetApplication(ctx context.Context, at types.NamespacedName) (*v1alpha1.Application, error) {
	app, err := c.Client.GetApplication(ctx, at)
	if err != nil {
		return nil, err
	}
	return c.join(ctx, app)
}

// join returns the Application with the content of its slices. Missing slices are not joined.
func (c *Client) join(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	whole, err := slice.Join(app, c.slicesIn(ctx, app.Namespace))
	if _, missing := errors.AsType[*slice.Unavailable](err); missing {
		return whole, nil
	}
	return whole, err
}

// ApplicationsWith returns the names of the Applications in the namespace of c that have an object in their
// manifests or in their inventory, also if these are in slices. An object can be in several Applications: one owns
// it, and others share it. A selected object is found by the inventory. An Application whose slices cannot be read
// is an error, because it can have the object.
func (c *Cluster) ApplicationsWith(ctx context.Context, id manifest.ID) (names []string, err error) {
	list, err := c.ListApplications(ctx, c.Namespace, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		app := &list.Items[i]
		if err := c.JoinObject(ctx, app); err != nil {
			return nil, fmt.Errorf("Application %s/%s: %w", c.Namespace, app.GetName(), err)
		}
		manifests, _, _ := unstructured.NestedSlice(app.Object, "spec", "manifest")
		resources, _, _ := unstructured.NestedSlice(app.Object, "status", "resources")
		if files.Position(manifests, id, c.Namespace) >= 0 || files.Position(resources, id, c.Namespace) >= 0 {
			names = append(names, app.GetName())
		}
	}
	return names, nil
}
