package files

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/turn"
)

// View is a cluster, or files in its place, for the turn of one Application.
type View = turn.Reader

// fileView has the live objects of files. It implements turn.View.
type fileView struct {
	kinds plan.Kinds
	live  map[manifest.ID]map[string]any
	// profiles are those in files.
	profiles plan.Profiles
}

// Offline is a View without live objects, and without a cluster.
func Offline(app *v1alpha1.Application) View {
	return fileView{kinds: kindsOf(Subject{Application: app}, nil)}
}

func (v fileView) Kinds() plan.Kinds { return v.kinds }

// Mapping does not say where a kind is served, only that it can be held: everything that
// is not known to be no object of its own.
func (fileView) Mapping(_ context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error) {
	return cluster.Mapping{Watchable: !kinds.IsEphemeral(gvk.GroupKind())}, nil
}

func (v fileView) AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error) {
	return v.Mapping(ctx, gk.WithVersion(""))
}

func (fileView) Need(map[schema.GroupVersionResource]bool, []string, cluster.Named, cluster.Ranges) {}

// Range is nothing more: Marked has all objects.
func (fileView) Range(context.Context, schema.GroupKind, cluster.Mapping, cluster.ObjectRange) (map[manifest.ID]map[string]any, error) {
	return nil, nil
}

// Marked are all objects of the kind: whose they are is told by their marks, and without
// a UID of the Application they are taken to be its own.
func (v fileView) Marked(_ context.Context, gk schema.GroupKind, _ cluster.Mapping) (map[manifest.ID]map[string]any, error) {
	marked := maps.Clone(v.live)
	maps.DeleteFunc(marked, func(id manifest.ID, _ map[string]any) bool { return id.GroupKind() != gk })
	return marked, nil
}

// Ended is nothing: nobody has watched.
func (fileView) Ended(schema.GroupKind, cluster.Mapping) map[manifest.ID]map[string]any { return nil }

// Written is nothing: the objects say it themselves.
func (fileView) Written(schema.GroupKind, cluster.Mapping, map[manifest.ID]map[string]any) map[manifest.ID]plan.ObservedWrites {
	return nil
}

// Silent is never: nothing is watched.
func (fileView) Silent(cluster.Mapping) error { return nil }

// Profiles are those in files, and what live autoscalers target.
func (v fileView) Profiles(context.Context, []manifest.ID) (plan.Profiles, error) {
	return v.profiles, nil
}

func (v fileView) Get(_ context.Context, at cluster.Location) (map[string]any, error) {
	if object := v.live[at.ID]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: at.ID.Group, Resource: at.ID.Kind}, at.ID.Name)
}

func (fileView) Problem(err error, _ cluster.Location, _ string) *plan.Problem {
	return Unread(err)
}

// kindsIn are the kinds of live objects.
func kindsIn(live map[manifest.ID]map[string]any) (gvks []schema.GroupVersionKind) {
	for _, object := range live {
		u := unstructured.Unstructured{Object: object}
		gvks = append(gvks, u.GroupVersionKind())
	}
	return gvks
}
