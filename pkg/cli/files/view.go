package files

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
)

// View is the read access of one reconciliation of an Application: to a cluster, or to files.
type View = reconcile.Reader

// fileView is a View of the live objects in files. It never returns reconcile.ErrNotSeen, because files are
// complete.
//
//	an object is       Get         Marked
//	in the files       the object  the object, whatever its labels are
//	not in the files   NotFound    -
type fileView struct {
	StaticView
	kinds intent.Kinds
	// live contains the live objects.
	live map[manifest.ID]map[string]any
	// profiles are the HoldProfiles in files, and the targets of live autoscalers.
	profiles intent.Profiles
}

// StaticView implements the methods of a View about watches, for a View that watches nothing.
type StaticView struct{}

// Ended returns nil, because there is no watch.
func (StaticView) Ended(schema.GroupKind, cluster.Mapping) map[manifest.ID]map[string]any { return nil }

// Written returns nil, because only the managedFields of the objects show who wrote them.
func (StaticView) Written(schema.GroupKind, cluster.Mapping) map[manifest.ID]store.WrittenObject {
	return nil
}

// Silent returns nil, because there is no watch.
func (StaticView) Silent(cluster.Mapping) error { return nil }

// Offline returns a View without live objects and without a cluster. It knows the kinds that the manifests
// define, and those of the inventory.
func Offline(app *v1alpha1.Application) View {
	return fileView{kinds: KindsOf(app)}
}

// Kinds knows the kinds of Kubernetes, and those that the files define.
func (v fileView) Kinds() intent.Kinds { return v.kinds }

// Mapping returns a mapping without a resource, because files do not show where a kind is served. Kinds then
// determines the scope. It reports every kind as watchable that is not known to be ephemeral.
func (fileView) Mapping(_ context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error) {
	return cluster.Mapping{Watchable: !kinds.IsEphemeral(gvk.GroupKind())}, nil
}

// AnyVersion implements reconcile.Reader. A file has no versions to choose from, so Mapping returns it, too.
func (v fileView) AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error) {
	return v.Mapping(ctx, gk.WithVersion(""))
}

// Need does nothing, because there is no watch.
func (fileView) Need(map[schema.GroupVersionResource]bool, []string, cluster.Named, cluster.Ranges) {}

// Range returns nil, because Marked returns all objects.
func (fileView) Range(context.Context, schema.GroupKind, cluster.Mapping, cluster.ObjectRange) (map[manifest.ID]map[string]any, error) {
	return nil, nil
}

// Marked returns all objects of the kind. Their tracking metadata identifies the owner. If the Application has
// no UID, they are assumed to be its own. The result is a new map with shared objects.
func (v fileView) Marked(_ context.Context, gk schema.GroupKind, _ cluster.Mapping) (map[manifest.ID]map[string]any, error) {
	marked := maps.Clone(v.live)
	maps.DeleteFunc(marked, func(id manifest.ID, _ map[string]any) bool { return id.GroupKind() != gk })
	return marked, nil
}

// Profiles returns the HoldProfiles in files, and the targets of live autoscalers.
func (v fileView) Profiles(context.Context, []manifest.ID) (intent.Profiles, error) {
	return v.profiles, nil
}

// Get returns the object, or the NotFound error of an API server.
func (v fileView) Get(_ context.Context, at cluster.Location) (map[string]any, error) {
	if object := v.live[at.ID]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: at.ID.Group, Resource: at.ID.Kind}, at.ID.Name)
}

func (fileView) Problem(err error, _ cluster.Location, _ string) *plan.Problem { return Unread(err) }

// kindsIn returns the kinds of live objects.
func kindsIn(live map[manifest.ID]map[string]any) (gvks []schema.GroupVersionKind) {
	for _, object := range live {
		u := unstructured.Unstructured{Object: object}
		gvks = append(gvks, u.GroupVersionKind())
	}
	return gvks
}
