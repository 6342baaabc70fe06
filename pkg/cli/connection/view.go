package connection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// view is a reader of the cluster with the rights of the user, for one reconcile of an Application. It
// implements reconcile.Reader with list and get requests, because a command does not watch. Only Get and
// Problem are safe for concurrent use.
type view struct {
	files.StaticView
	*Client
	kinds *Mapper
	app   *v1alpha1.Application
	known *files.KnownKinds // the kinds that the Application defines

	// namespaces lists the namespaces in which the Application may have objects. Need sets them before Marked is
	// called.
	namespaces []string
	// mu guards unreadable.
	mu sync.Mutex
	// unreadable collects the explained errors of objects that could not be read.
	unreadable []error
	// unlisted collects the resources that the user may not list, with duplicates.
	unlisted []string
	// unprofiled is a note that the user may not list the HoldProfiles, or a resource that profiles depend on; ""
	// if the user may. One resource is enough: the first one that is missing is usually the cause of the others.
	unprofiled string
}

// View returns a reader of the cluster for one reconcile of an Application, with the rights of the user.
func (c *Cluster) View(app *v1alpha1.Application) files.View { return c.view(app) }

// view returns a new reader. Its results are for one reconcile, because it collects what is unreadable.
func (c *Cluster) view(app *v1alpha1.Application) *view {
	return &view{Client: c.Client, kinds: c.Kinds, app: app, known: files.KindsOf(app)}
}

func (v *view) Kinds() intent.Kinds { return v.known }

// Mapping implements reconcile.Reader. It adds the type that the API server publishes, and a suggestion if
// the version is not served.
// For a mistyped version, such as app/v1, the suggestion is apps/v1.
func (v *view) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error) {
	mapping, err := v.kinds.Mapping(ctx, gvk)
	if err == nil {
		if mapping.Published = v.known.Defined(gvk); mapping.Published == nil { // the Application will define the kind like this
			mapping.Published = v.kinds.published(ctx, gvk, mapping)
		}
	}
	if unknown, is := errors.AsType[*cluster.KindUnknownError](err); is && unknown.Suggestion == "" {
		suggested := *unknown
		suggested.Suggestion = v.kinds.nearestVersion(gvk)
		return mapping, &suggested
	}
	return mapping, err
}

func (v *view) AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error) {
	return v.kinds.AnyVersion(ctx, gk)
}

// Need records the namespaces in which the Application may have objects. It watches nothing.
func (v *view) Need(_ map[schema.GroupVersionResource]bool, namespaces []string, _ cluster.Named, _ cluster.Ranges) {
	v.namespaces = namespaces
}

// selectedAtOnce is the maximum number of objects in one response to a list request.
const selectedAtOnce = 500

// Range implements reconcile.Reader with list requests, in pages of selectedAtOnce objects.
func (v *view) Range(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping, r cluster.ObjectRange) (map[manifest.ID]map[string]any, error) {
	client := v.Own.Resource(mapping.Resource).Namespace(r.Namespace)
	options := metav1.ListOptions{LabelSelector: r.Labels, Limit: selectedAtOnce}
	found := map[manifest.ID]map[string]any{}
	for {
		list, err := client.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			found[manifest.ID{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o.Object
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}

// Marked lists the objects of a kind that have the Application's label. If the user may not list them, the view lists
// only the desired objects and those in the inventory. An Application that is not submitted has no such objects. The
// label finds objects that left the manifests before the inventory recorded them. Without it, the plan can lack
// deletions, which unlisted reports. It never has a wrong change.
func (v *view) Marked(ctx context.Context, gk schema.GroupKind, mapping cluster.Mapping) (map[manifest.ID]map[string]any, error) {
	// The label contains the UID, so no object can have it yet.
	if v.app.UID == "" || v.app.UID == notSubmitted {
		return nil, nil
	}
	namespaces := v.namespaces
	if !mapping.Namespaced {
		namespaces = []string{metav1.NamespaceNone}
	}
	marked := map[manifest.ID]map[string]any{}
	for _, namespace := range namespaces {
		list, err := v.Own.Resource(mapping.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelApplicationUID + "=" + string(v.app.UID)})
		switch {
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
			continue // no such objects, or not held: see KindUnsupported
		case apierrors.IsForbidden(err):
			v.unlisted = append(v.unlisted, mapping.Resource.GroupResource().String())
			continue
		case err != nil:
			return nil, v.Explained(err, "list", mapping.Resource.GroupResource().String())
		}
		for i := range list.Items {
			o := &list.Items[i]
			marked[manifest.ID{Group: gk.Group, Kind: gk.Kind, Namespace: o.GetNamespace(), Name: o.GetName()}] = o.Object
		}
	}
	return marked, nil
}

// Problem implements reconcile.Reader. It records the error of a read, because nothing is known about an object that
// cannot be read. The result blocks the change of the object, and does not make the plan invalid.
func (v *view) Problem(err error, at cluster.Location, verb string) *plan.Problem {
	err = v.Explained(err, verb, at.ID.String())
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unreadable = append(v.unreadable, err)
	return files.Unread(err)
}

// Unreadable returns the resources that could not be listed, sorted and without duplicates, and why
// objects could not be read; nil if all could be read. Call it after the reconcile.
func (v *view) Unreadable() (unlisted []string, err error) {
	slices.Sort(v.unlisted)
	// Concurrent requests add the errors in any order.
	slices.SortFunc(v.unreadable, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return slices.Compact(v.unlisted), errors.Join(v.unreadable...)
}

// Get reads one object with the user's own rights, managedFields included. The result has all fields, also those
// that this program does not know.
func (c *Client) Get(ctx context.Context, at cluster.Location) (map[string]any, error) {
	object, err := c.resource(at.Mapping, at.ID.Namespace).Get(ctx, at.ID.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return object.Object, nil
}

// resource returns the client for a resource, in a namespace if the resource is namespaced.
func (c *Client) resource(mapping cluster.Mapping, namespace string) dynamic.ResourceInterface {
	if !mapping.Namespaced {
		namespace = ""
	}
	return c.Own.Resource(mapping.Resource).Namespace(namespace)
}

// notSubmitted is the UID of an Application that has none yet. No existing object belongs to it.
const notSubmitted = "assigned-when-submitted"

// decide reads the live objects of an Application with the rights of the user, and decides about it like the
// controller. unreadable reports the objects that could not be read; their changes are blocked. If nothing could be
// read at all, the plan of the decision is invalid, and unreadable states the reason. The commands that only inspect
// show blocked changes. Those that would act on the result return unreadable as their error.
func (c *Cluster) decide(ctx context.Context, app files.Subject, now time.Time) (d files.Decision, unreadable error) {
	app, translation := app.Translated(ctx, c.Reader(app.Namespace), !app.NewSource)
	// The translated objects define kinds, too.
	v := c.view(files.WithTranslation(app.Application, translation))
	d, err := app.DecideIn(ctx, v, translation, now)
	if err != nil {
		return d, err
	}
	unlisted, unreadable := v.Unreadable()
	if len(unlisted) > 0 {
		d.Unlisted = fmt.Sprintf("you may not list %s: objects of Application %s/%s that are neither desired nor in its inventory are not shown",
			strings.Join(unlisted, ", "), app.Namespace, app.Name)
	}
	d.Unprofiled = v.unprofiled
	return d, unreadable
}
