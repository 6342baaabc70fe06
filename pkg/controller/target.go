package controller

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/writer"
)

// target is the cluster as the reconciles of one Application use it. It reads from the stores of watches, and writes
// with the permissions of the Application's ServiceAccount. It implements reconcile.Target. It is created for each
// reconcile.
//
// The stores belong to watches that SetInterest started for this Application. Other Applications can share them, so
// their methods filter by UID. The View of a kind that the Application does not need is empty: reads then return
// ErrNotSeen or nothing, and writes are not recorded.
type target struct {
	*targetCluster
	*cluster.Writer
	// app is the UID of the Application, by which the stores are filtered.
	app types.UID
	// await requeues the Application when a kind of the group changes.
	await func(group string)
}

func (target) Kinds() intent.Kinds { return intent.Offline() }

// Mapping resolves a kind. If the kind cannot be watched, the Application is reconciled again when a kind
// of the group changes.
func (t target) Mapping(ctx context.Context, gvk schema.GroupVersionKind) (cluster.Mapping, error) {
	mapping, err := t.mapper.Mapping(ctx, gvk)
	if err != nil || !mapping.Watchable {
		t.await(gvk.Group)
	}
	return mapping, err
}

func (t target) AnyVersion(ctx context.Context, gk schema.GroupKind) (cluster.Mapping, error) {
	return t.mapper.AnyVersion(ctx, gk)
}

func (t target) Need(resources map[schema.GroupVersionResource]bool, namespaces []string, named cluster.Named, ranges cluster.Ranges) {
	t.watches.SetInterest(t.app, resources, namespaces, named, ranges)
}

// Range decodes all objects of the range. The error of the watch counts only until its first list.
func (t target) Range(_ context.Context, gk schema.GroupKind, mapping cluster.Mapping, r cluster.ObjectRange) (map[manifest.ID]map[string]any, error) {
	objects, ready, err := t.store(mapping).Range(r)
	if !ready {
		return nil, cmp.Or(err, reconcile.ErrNotSeen)
	}
	return contents(gk, objects), nil
}

// store returns the objects of a kind. The error of their watch is ignored; Marked and the View return it.
func (t target) store(mapping cluster.Mapping) *cluster.View {
	view, _ := t.watches.Store(t.app, mapping.Resource)
	return view
}

// contents decodes objects of a kind.
func contents(gk schema.GroupKind, objects []*store.Object) map[manifest.ID]map[string]any {
	found := make(map[manifest.ID]map[string]any, len(objects))
	for _, o := range objects {
		found[idOf(gk, o.Key)] = o.Content()
	}
	return found
}

// Shared decodes one object. The error of the watch counts only until its first list.
func (t target) Shared(at cluster.Location) (map[string]any, error) {
	object, ready, err := t.store(at.Mapping).Shared(keyOf(at))
	switch {
	case !ready:
		return nil, cmp.Or(err, reconcile.ErrNotSeen)
	case object == nil:
		return nil, nil
	}
	return object.Content(), nil
}

// Marked returns the error of the watch until its first list is complete, or ErrNotSeen if it has none.
func (t target) Marked(_ context.Context, gk schema.GroupKind, mapping cluster.Mapping) (map[manifest.ID]map[string]any, error) {
	store, err := t.watches.Store(t.app, mapping.Resource)
	if !store.Ready() {
		return nil, cmp.Or(err, reconcile.ErrNotSeen)
	}
	return byID(gk, store.Contents()), nil
}

func (t target) Written(gk schema.GroupKind, mapping cluster.Mapping) map[manifest.ID]store.WrittenObject {
	return byID(gk, t.store(mapping).Written())
}

// byID returns a map by identity instead of by name, for objects of a kind.
func byID[V any](gk schema.GroupKind, values map[types.NamespacedName]V) map[manifest.ID]V {
	found := make(map[manifest.ID]V, len(values))
	for key, value := range values {
		found[idOf(gk, key)] = value
	}
	return found
}

func (t target) Processed(at cluster.Location, w writer.Activity) {
	t.store(at.Mapping).Processed(keyOf(at), w)
}

// Ended returns the last states of deleted Jobs. They matter because a finished Job is not created again.
func (t target) Ended(gk schema.GroupKind, mapping cluster.Mapping) map[manifest.ID]map[string]any {
	return contents(gk, t.store(mapping).Ended())
}

func (t target) Silent(mapping cluster.Mapping) error {
	_, err := t.store(mapping).StalledSince(t.now())
	return err
}

func (t target) Profiles(_ context.Context, objects []manifest.ID) (intent.Profiles, error) {
	return t.profiles.For(t.app, objects)
}

func (t target) MayRead(ctx context.Context, at cluster.Location, verb string, refresh bool) (again time.Duration, err error) {
	return t.Writer.MayRead(ctx, t.rights, at, verb, refresh)
}

// keyOf returns the name of an object in the stores.
func keyOf(at cluster.Location) types.NamespacedName {
	return types.NamespacedName{Namespace: at.ID.Namespace, Name: at.ID.Name}
}

func idOf(gk schema.GroupKind, key types.NamespacedName) manifest.ID {
	return manifest.ID{Group: gk.Group, Kind: gk.Kind, Namespace: key.Namespace, Name: key.Name}
}

func (t target) Problem(err error, at cluster.Location, verb string) *plan.Problem {
	return reconcile.ProblemOf(err, at, verb, t.User())
}

// Wrote also queues the other Applications that watch the object, because its watch event will not.
func (t target) Wrote(at cluster.Location, object map[string]any) {
	t.store(at.Mapping).Wrote(object)
}

func (t target) Gone(at cluster.Location, uid types.UID) {
	t.store(at.Mapping).Deleted(keyOf(at), uid)
}

func (t target) AwaitNamespaces(names []string) { t.namespaces.SetWaiting(t.app, names) }

func (t target) NamespaceEnds(ctx context.Context, name string) bool {
	return t.client.NamespaceEnds(ctx, name)
}
