package reconcile_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	kubernetes "holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/store"
	"holdfast.dev/holdfast/pkg/worker"
	"holdfast.dev/holdfast/pkg/writer"
)

// process is the in-process state of a controller, which is lost when the controller dies.
type process struct {
	memory *reconcile.State
	store  *watch // of the objects with its label
	shared *watch // of all objects, while the Application shares them or is observe-only; otherwise nil
	// changed is true if anything has changed since the last reconciliation.
	changed bool
	// peers contains the other Applications in the cache, by name.
	peers map[string]*v1alpha1.Application
	// dead is true after the process has died. The requests that it still sends have no effect.
	dead bool
}

// start starts a new process, whose watches list the current objects.
func (c *cluster) start() {
	c.process = &process{memory: reconcile.NewMemory(c.app, c.now).Steady(), changed: true, peers: map[string]*v1alpha1.Application{}}
	c.process.store = c.newWatch(true)
	c.lagging = map[manifest.ID]bool{}
	c.seen = map[manifest.ID]map[string]any{}
	for _, s := range c.slices {
		s.Since = c.now
	}
}

// newWatch lists and watches all objects, or only those with the label of the Application.
func (c *cluster) newWatch(labelled bool) *watch {
	p := c.process
	return newWatch(c.server, c.app.UID, labelled, c.names, func() time.Time { return c.now }, func() { p.changed = true })
}

// reconcile runs one reconciliation. It reports whether another one is due immediately.
func (c *cluster) reconcile() (again bool) {
	c.confirm()
	c.sync()
	app := c.app.DeepCopy()
	c.decided, c.basis = c.wanted, c.status()
	if postponed := c.memory.PendingStatus(); postponed != nil {
		c.basis = *postponed
	}
	if c.deleted {
		c.decided = desires{}
	}
	for _, id := range c.names {
		if object := c.store.get(id); object != nil {
			c.seen[id] = object
		}
	}
	reconciler := c.reconciler()
	changed := c.changed
	c.changed = false
	after, err := reconciler.Reconcile(c.t.Context(), app, c.memory, reconcile.News{Changed: changed})
	c.rethrow()
	if errors.Is(err, worker.ErrPanic) {
		c.fail("%v", err)
	}
	if c.dead {
		c.start()
		return true
	}
	return err != nil || after > 0 && after <= time.Second
}

// confirm confirms the deletions that wait for it.
func (c *cluster) confirm() {
	for _, r := range c.status().Resources {
		if r.Reason != v1alpha1.ReasonDeletionUnconfirmed || r.Remedy == nil {
			continue
		}
		_, digest, _ := strings.Cut(r.Remedy.Command, " --confirm ")
		if c.app.Annotations[v1alpha1.AnnotationConfirm] == digest {
			continue
		}
		c.note("the deletions %s are confirmed", digest)
		c.app.Annotations = maps.Clone(c.app.Annotations)
		if c.app.Annotations == nil {
			c.app.Annotations = map[string]string{}
		}
		c.app.Annotations[v1alpha1.AnnotationConfirm] = digest
		c.newVersion()
		c.changed = true
	}
}

// reconciler returns the Reconciler under test.
func (c *cluster) reconciler() *reconcile.Reconciler {
	return &reconcile.Reconciler{
		Applications: home{c}, Slices: slicesHome{c}, MaxBytes: c.maxBytes, Target: func(*v1alpha1.Application) (reconcile.Target, error) { return target{c}, nil },
		Hooks: hooks.New(), Rules: plan.DefaultContestPolicy, InFlight: 1,
		Now:   func() time.Time { return c.now },
		Sleep: func(context.Context, time.Duration) error { return nil },
	}
}

// sync updates the store with the current objects, except for those whose watch lags.
func (c *cluster) sync() {
	for _, name := range slices.Sorted(maps.Keys(c.others)) {
		if c.peers[name] == nil || !c.storm || !c.chance("the cache lags", 2) {
			c.peers[name] = c.others[name].app.DeepCopy()
		}
	}
	switch shares := c.wanted.observe || c.share != nil && !c.share.owns; {
	case shares && c.shared == nil:
		c.shared, c.changed = c.newWatch(false), true
	case !shares:
		c.shared = nil
	}
	for _, id := range c.names {
		if !c.lagging[id] {
			c.catchUp(id)
		}
	}
}

// catchUp delivers the events of an object. During a storm, the last ones can be late.
func (c *cluster) catchUp(id manifest.ID) {
	for _, w := range []*watch{c.store, c.shared} {
		if w == nil {
			continue
		}
		late := 0
		for c.storm && late < 3 && c.chance("an event is late", 4) {
			late++
		}
		w.catchUp(id, late)
	}
}

// guard records the panic of a call, because the Reconciler would treat it as a failed request.
func (c *cluster) guard() {
	if r := recover(); r != nil {
		c.panicked = r
		panic(r)
	}
}

// rethrow repeats a panic that the Reconciler has recovered from.
func (c *cluster) rethrow() {
	if r := c.panicked; r != nil {
		c.panicked = nil
		panic(r)
	}
}

// target presents the model as the cluster that contains the held objects.
type target struct{ *cluster }

func (t target) Kinds() intent.Kinds { return t.kinds }

func (t target) Mapping(_ context.Context, gvk schema.GroupVersionKind) (kubernetes.Mapping, error) {
	return kubernetes.Mapping{
		Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: true, Watchable: true, Type: t.kinds.Type(gvk),
	}, nil
}

func (t target) AnyVersion(ctx context.Context, gk schema.GroupKind) (kubernetes.Mapping, error) {
	return t.Mapping(ctx, gk.WithVersion("v1"))
}

func (target) Need(map[schema.GroupVersionResource]bool, []string, kubernetes.Named, kubernetes.Ranges) {
}

// Range returns the shared objects that the watch has delivered.
func (t target) Range(_ context.Context, gk schema.GroupKind, _ kubernetes.Mapping, r kubernetes.ObjectRange) (map[manifest.ID]map[string]any, error) {
	found := map[manifest.ID]map[string]any{}
	selector, err := labels.Parse(r.Labels)
	if err != nil {
		t.fail("%v", err)
	}
	for _, id := range t.names {
		object, _ := t.Shared(kubernetes.Location{ID: id})
		if object != nil && id.GroupKind() == gk && (r.Namespace == "" || r.Namespace == id.Namespace) && selector.Matches(labels.Set((&unstructured.Unstructured{Object: object}).GetLabels())) {
			found[id] = object
		}
	}
	return found, nil
}

func (target) MayList(context.Context, kubernetes.Mapping, kubernetes.ObjectRange) error { return nil }

func (target) MayRead(context.Context, kubernetes.Location, string, bool) (time.Duration, error) {
	return 0, nil
}

func (t target) Shared(at kubernetes.Location) (map[string]any, error) {
	if t.shared == nil {
		return nil, nil
	}
	return t.shared.get(at.ID), nil
}

func (t target) Marked(_ context.Context, gk schema.GroupKind, _ kubernetes.Mapping) (map[manifest.ID]map[string]any, error) {
	marked := map[manifest.ID]map[string]any{}
	for _, id := range t.names {
		if object := t.store.get(id); object != nil && id.GroupKind() == gk {
			marked[id] = object
		}
	}
	return marked, nil
}

func (target) Ended(schema.GroupKind, kubernetes.Mapping) map[manifest.ID]map[string]any { return nil }

// watches returns the watches for a kind, or none if the model has no objects of the kind.
func (c *cluster) watches(kind schema.GroupKind) (watches []*watch) {
	for _, w := range []*watch{c.store, c.shared} {
		if w != nil && w.stores[kind] != nil {
			watches = append(watches, w)
		}
	}
	return watches
}

func (t target) Written(kind schema.GroupKind, _ kubernetes.Mapping) map[manifest.ID]store.WrittenObject {
	all := map[manifest.ID]store.WrittenObject{}
	if t.storm && t.chance("an event arrives during a reconciliation", 4) {
		for _, id := range t.names {
			if id.GroupKind() == kind {
				t.catchUp(id)
			}
		}
	}
	for _, w := range t.watches(kind) {
		maps.Copy(all, w.written(kind))
	}
	return all
}

func (t target) Processed(at kubernetes.Location, activity writer.Activity) {
	for _, w := range t.watches(at.ID.GroupKind()) {
		w.stores[at.ID.GroupKind()].Processed(t.app.UID, keyIn(at.ID), activity)
	}
}

func (target) Silent(kubernetes.Mapping) error { return nil }

func (target) Profiles(context.Context, []manifest.ID) (intent.Profiles, error) {
	return intent.Profiles{}, nil
}

func (t target) Get(_ context.Context, at kubernetes.Location) (map[string]any, error) {
	defer t.guard()
	if t.dead {
		return nil, errDead
	}
	if t.storm && t.chance("get fails", 8) {
		t.note("get of %s fails", short(at.ID))
		return nil, errServer()
	}
	object, err := t.server.get(at.ID)
	t.seen[at.ID] = object
	return object, err
}

func (t target) Problem(err error, at kubernetes.Location, verb string) *plan.Problem {
	return reconcile.ProblemOf(err, at, verb, "system:serviceaccount:default:deployer")
}

// manager returns the field manager of the Application.
func (c *cluster) manager() string { return v1alpha1.FieldManagerOf(c.app.Namespace, c.app.Name) }

func (t target) Create(_ context.Context, at kubernetes.Location, body map[string]any) (map[string]any, error) {
	return t.request("create", at.ID, body, nil, func() (map[string]any, error) {
		if t.server.taken[get(body, "spec", "vip")] {
			t.relearned[at.ID] = true // the object is created without learned values
		}
		return t.server.create(at.ID, body, t.manager())
	})
}

func (t target) Patch(_ context.Context, at kubernetes.Location, ops any) (map[string]any, error) {
	return t.request("patch", at.ID, nil, ops, func() (map[string]any, error) { return t.server.patch(at.ID, ops, false, t.manager()) })
}

func (t target) TryPatch(_ context.Context, at kubernetes.Location, ops any) error {
	if t.dead {
		return errDead
	}
	_, err := t.server.patch(at.ID, ops, true, "")
	return err
}

func (t target) Delete(_ context.Context, at kubernetes.Location, uid, resourceVersion string) (map[string]any, error) {
	return t.request("delete", at.ID, nil, nil, func() (map[string]any, error) { return t.server.delete(at.ID, uid, resourceVersion) })
}

// Wrote adds the controller's own write to the stores, before the watch delivers it.
func (t target) Wrote(at kubernetes.Location, object map[string]any) {
	for _, w := range t.watches(at.ID.GroupKind()) {
		if store := w.stores[at.ID.GroupKind()]; !w.labelled || labelOf(object) != "" || store.Get(keyIn(at.ID)) != nil {
			store.ApplyWrite(t.app.UID, observer.CopyMap(object))
		}
	}
}

func (t target) Gone(at kubernetes.Location, uid types.UID) {
	for _, w := range t.watches(at.ID.GroupKind()) {
		w.stores[at.ID.GroupKind()].Deleted(keyIn(at.ID), uid)
	}
}

func (target) AwaitNamespaces([]string) {}

func (target) NamespaceEnds(context.Context, string) bool { return false }

// home presents the model as the API server that stores the Application.
type home struct{ *cluster }

func (h home) Latest(app *v1alpha1.Application) *v1alpha1.Application {
	other := h.others[app.Name]
	switch {
	case h.over, app.Name != h.app.Name && (other == nil || other.over):
		return app
	case other != nil:
		return h.peers[app.Name]
	}
	return h.app.DeepCopy()
}

func (h home) Read(ctx context.Context, app *v1alpha1.Application) (*v1alpha1.Application, error) {
	other := h.others[app.Name]
	switch {
	case h.dead:
		return nil, errDead
	case app.Name != h.app.Name && other == nil:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "applications"}, app.Name)
	case other != nil:
		if h.storm && h.chance("read fails", 8) {
			return nil, errServer()
		}
		return home{other}.Read(ctx, other.app)
	case h.over:
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "applications"}, h.app.Name)
	}
	return h.app.DeepCopy(), nil
}

// write changes the stored Application, or simulates a failure of the request.
func (h home) write(what string, app *v1alpha1.Application, change func(stored *v1alpha1.Application)) (*v1alpha1.Application, error) {
	defer h.guard()
	if h.point("before " + what); h.dead {
		return nil, errDead
	}
	if h.storm && h.chance(what, 8) {
		h.note("%s fails", what)
		return nil, errServer()
	}
	if app.ResourceVersion != h.app.ResourceVersion {
		h.note("%s meets a newer version", what)
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "applications"}, app.Name, nil)
	}
	change(h.app)
	h.newVersion()
	h.over = h.app.DeletionTimestamp != nil && len(h.app.Finalizers) == 0
	if h.point("after " + what); h.dead {
		return nil, errDead
	}
	return h.app.DeepCopy(), nil
}

// newVersion sets a new resourceVersion on the stored Application.
func (c *cluster) newVersion() {
	c.server.serial++
	c.app.ResourceVersion = strconv.Itoa(c.server.serial)
}

func (h home) WriteMetadata(_ context.Context, app *v1alpha1.Application, finalizers []string, annotations map[string]string) (*v1alpha1.Application, error) {
	if h.decided.observe {
		h.fail("finalizers and annotations are written, while it only observes")
	}
	return h.write("its metadata are stored", app, func(stored *v1alpha1.Application) {
		stored.Finalizers = slices.Clone(finalizers)
		stored.Annotations = maps.Clone(stored.Annotations)
		if stored.Annotations == nil {
			stored.Annotations = map[string]string{}
		}
		maps.Copy(stored.Annotations, annotations)
	})
}

func (h home) WriteStatus(_ context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	_, err := h.write("its status is stored", app, func(*v1alpha1.Application) { h.record(status) })
	return err
}

func (h home) Again(*v1alpha1.Application) { h.changed = true }

func (h home) Forget(app *v1alpha1.Application) error {
	if !h.over {
		h.fail("the Application is released with its finalizers: %v", app.Finalizers)
	}
	return nil
}

func (h home) Announce(_ *v1alpha1.Application, event *plan.Event) {
	if event != nil && leaks(event.Note) {
		h.fail("an event tells a value of a Secret: %s", event.Note)
	}
}

func (h home) Concluded(_ *v1alpha1.Application, _ *plan.Plan, _ map[manifest.ID]plan.Outcome, result plan.Result) {
	status := result.Status
	if !h.dead {
		h.told(h.basis, status)
	}
}

func (h home) Report(*v1alpha1.Application) (done func()) { return func() {} }

// remove starts the deletion of the Application.
func (c *cluster) remove() {
	c.deleted, c.changed = true, true
	now := metav1.NewTime(c.now)
	c.app.DeletionTimestamp = &now
	c.newVersion()
	c.over = len(c.app.Finalizers) == 0
}
