package reconcile_test

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/store"
)

// event is a change of an object.
type event struct {
	object map[string]any // with its managedFields; for a deleted object, its last state
	gone   bool
}

// emit adds a change of an object to the events that the watches deliver.
func (s *apiServer) emit(id manifest.ID, object map[string]any, gone bool) {
	object = s.answer(object)
	set(object, strconv.Itoa(s.serial), "metadata", "resourceVersion")
	s.events[id] = append(s.events[id], event{object, gone})
}

// watch feeds the real stores with lists and events of the model's objects.
type watch struct {
	server *apiServer
	// application is the UID of the Application. labelled is true if the watch only selects objects with
	// that label.
	application types.UID
	labelled    bool
	stores      map[schema.GroupKind]*store.Store
	// shown is the number of events of an object that the stores have received.
	shown map[manifest.ID]int
}

// newWatch lists the objects.
func newWatch(server *apiServer, application types.UID, labelled bool, names []manifest.ID, now func() time.Time, changed func()) *watch {
	w := &watch{server, application, labelled, map[schema.GroupKind]*store.Store{}, map[manifest.ID]int{}}
	lists := map[schema.GroupKind][]any{}
	for _, id := range names {
		w.shown[id] = len(server.events[id])
		lists[id.GroupKind()] = slices.Clone(lists[id.GroupKind()])
		if object := server.objects[id]; object != nil && w.matches(object) {
			lists[id.GroupKind()] = append(lists[id.GroupKind()], &unstructured.Unstructured{Object: server.answer(object)})
		}
	}
	for kind, items := range lists {
		options := store.Options{Now: now, Changed: func(_, _ *store.Object) { changed() }, Synced: func() {}}
		if !labelled {
			options.Watchers = func(types.NamespacedName) []types.UID { return []types.UID{application} }
		}
		filled := store.New(options)
		w.stores[kind] = filled
		filled.BeginList()
		if err := filled.Replace(items, strconv.Itoa(server.serial)); err != nil {
			panic(err)
		}
	}
	return w
}

func (w *watch) matches(object map[string]any) bool {
	return !w.labelled || labelOf(object) == string(w.application)
}

// catchUp delivers the events of an object, except for the last ones.
func (w *watch) catchUp(id manifest.ID, late int) {
	store, events := w.stores[id.GroupKind()], w.server.events[id]
	events = events[:max(len(events)-late, w.shown[id])]
	for _, e := range events[w.shown[id]:] {
		show := store.Update
		if e.gone || !w.matches(e.object) {
			show = store.Delete
		}
		if err := show(&unstructured.Unstructured{Object: observer.CopyMap(e.object)}); err != nil {
			panic(err)
		}
	}
	w.shown[id] = len(events)
}

// get returns an object as the watch has delivered it, or nil.
func (w *watch) get(id manifest.ID) map[string]any {
	if o := w.stores[id.GroupKind()].Get(keyIn(id)); o != nil && (!w.labelled || o.Application == w.application) {
		return o.Content()
	}
	return nil
}

func (w *watch) written(kind schema.GroupKind) map[manifest.ID]store.WrittenObject {
	all := map[manifest.ID]store.WrittenObject{}
	for key, activity := range w.stores[kind].Written(w.application) {
		all[manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: key.Namespace, Name: key.Name}] = activity
	}
	return all
}

func keyIn(id manifest.ID) types.NamespacedName {
	return types.NamespacedName{Namespace: id.Namespace, Name: id.Name}
}
