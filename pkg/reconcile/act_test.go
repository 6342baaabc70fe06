package reconcile_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/claim"
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

// desk is a scripted cluster. It contains objects, responds to some requests with errors, and records all
// of them. It is the target and the home of one Application.
type desk struct {
	app     *v1alpha1.Application
	live    map[manifest.ID]map[string]any
	fails   map[string]error // by verb and name
	stays   map[string]bool  // objects that a delete leaves for a while
	written []string
	// conflict is a newer version of the Application that another process has written.
	conflict *v1alpha1.Application
	statuses int // number of status writes
	memory   *reconcile.State
	now      time.Time
	late     map[string]any // returned by a read before the watch delivers it
	log      bytes.Buffer
	awaited  []string // namespaces
	lags     bool     // no watch delivers anything
	deleted  string   // UID and version of the last deleted object
	known    []string // objects whose writes were added to the stores
	onRecord string   // the last-applied manifests at the last write
	mayNot   error    // the error of a list request for a selection
	mayList  string   // the name of an object for which mayNot does not apply
	denied   int      // number of checks that returned mayNot
	// mayNotRead is the error of the right to read an object. asked contains the questions for it.
	mayNotRead error
	asked      []string
	reads      int            // number of objects read by name
	after      time.Duration  // when the last reconciliation asked to be repeated
	unseen     error          // the error for objects that no watch has listed yet
	patched    map[string]any // the data of each patched object; nil if a patch has no effect
	// newer contains the objects whose writes the watch delivers after it was read.
	newer map[manifest.ID]store.WrittenObject
}

// errPanics makes a request panic.
var errPanics = errors.New("a bug")

var (
	config  = manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "config"}
	service = manifest.ID{Kind: "Service", Namespace: "default", Name: "web"}
)

// newDesk returns a desk whose Application has the given spec, as YAML.
func newDesk(t *testing.T, spec string) *desk {
	t.Helper()
	d := &desk{live: map[manifest.ID]map[string]any{}, fails: map[string]error{}, stays: map[string]bool{}, now: time.Now()}
	d.app = &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop", UID: "app-1", Generation: 1, Finalizers: []string{v1alpha1.Finalizer}}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &d.app.Spec))
	return d
}

// has adds an object of the Application to the cluster and to the inventory.
func (d *desk) has(id manifest.ID) {
	object := map[string]any{"apiVersion": "v1", "kind": id.Kind, "metadata": map[string]any{
		"name": id.Name, "namespace": id.Namespace, "uid": "u-" + id.Name, "resourceVersion": "1",
		"labels":      map[string]any{v1alpha1.LabelApplicationUID: string(d.app.UID)},
		"annotations": map[string]any{v1alpha1.AnnotationTrackingID: claim.TrackingID(d.app, id)},
	}}
	d.live[id] = object
	d.app.Status.Resources = append(d.app.Status.Resources, v1alpha1.ResourceStatus{
		ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: id.Kind, Namespace: id.Namespace, Name: id.Name},
		UID:               types.UID("u-" + id.Name), Schema: v1alpha1.SchemaDefault,
	})
}

// take runs one reconciliation and returns the writes to objects.
func (d *desk) take(t *testing.T, news ...reconcile.News) []string {
	t.Helper()
	if d.memory == nil {
		d.memory = reconcile.NewMemory(d.app, d.now).Steady()
	}
	d.written = nil
	reconciler := reconcile.Reconciler{
		Applications: d, Target: func(*v1alpha1.Application) (reconcile.Target, error) { return d, nil }, Hooks: hooks.New(), Rules: plan.DefaultContestPolicy,
		Now: func() time.Time { return d.now }, Sleep: func(context.Context, time.Duration) error { return nil }, InFlight: 1,
	}
	d.log.Reset()
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&d.log))))
	after, err := reconciler.Reconcile(ctx, d.app.DeepCopy(), d.memory, append(news, reconcile.News{})[0])
	if err != nil && !errors.Is(err, worker.ErrOutdated) {
		require.NotEmpty(t, d.fails)
	}
	d.after = after
	return d.written
}

func TestStages(t *testing.T) {
	t.Run("a deletion waits for the earlier stage", func(t *testing.T) {
		d := newDesk(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: other}}]`)
		d.has(config)
		d.has(service)
		d.stays["web"] = true
		assert.Equal(t, []string{"create other", "delete web"}, d.take(t), "the remaining Service can depend on the ConfigMap")
	})
	t.Run("nothing is deleted while something is not as it should be", func(t *testing.T) {
		d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}]}`)
		d.has(config)
		d.fails["create new"] = apierrors.NewInternalError(context.DeadlineExceeded)
		assert.Equal(t, []string{"create new"}, d.take(t))
	})
}

func TestAMissingNamespaceIsTriedOncePerRound(t *testing.T) {
	d := newDesk(t, `{manifest: [
		{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: later}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: later}},
		{apiVersion: v1, kind: Service, metadata: {name: c, namespace: later}}]}`)
	missing := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{Kind: "namespaces", Name: "later"},
	}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", nil)
	d.fails["create a"], d.fails["create b"], d.fails["create c"] = missing, missing, missing
	assert.Equal(t, []string{"create a"}, d.take(t))
	assert.Equal(t, []string{"later"}, d.awaited)
	assert.Empty(t, d.take(t))
	assert.Equal(t, []string{"later"}, d.awaited, "a reconcile before the next try changes nothing of it")
	d.now = d.now.Add(time.Second)
	assert.Equal(t, []string{"create a"}, d.take(t), "all that waits is due together")
	d.fails["create a"] = forbidden
	assert.Equal(t, []string{"create a", "create b"}, d.take(t, reconcile.News{Namespace: true}), "missing permissions do not show whether the namespace exists")
	assert.Equal(t, []string{"later"}, d.awaited)
	clear(d.fails)
	assert.Equal(t, []string{"create b", "create c"}, d.take(t, reconcile.News{Namespace: true}), "what is forbidden has its own waits")
	assert.Empty(t, d.awaited)
}

// Namespaces are watched only while an Application waits for one.
func TestOnlyCreatesWaitForNamespaces(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Application){
		"suspended": func(app *v1alpha1.Application) { app.Spec.Suspend = true },
		// A changed source does not increase the generation.
		"translated anew": func(app *v1alpha1.Application) { app.Spec.Manifest = nil },
		"refused":         func(app *v1alpha1.Application) { app.Spec.Manifest[0].Raw = []byte(`{}`) },
		"deleted": func(app *v1alpha1.Application) {
			app.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: later}}]}`)
			d.fails["create a"] = &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Details: &metav1.StatusDetails{Kind: "namespaces", Name: "later"},
			}}
			d.take(t)
			require.Equal(t, []string{"later"}, d.awaited)
			change(d.app)
			if name != "translated anew" {
				d.app.Generation++
			}
			d.take(t)
			assert.Empty(t, d.awaited)
		})
	}
}

func TestARefusedCreateIsLookedInto(t *testing.T) {
	d := newDesk(t, `{adoption: Always, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1"}}]}`)
	d.live[config] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1",
	}}
	d.fails["create config"] = apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "config", nil)
	assert.Equal(t, []string{"create config", "patch config"}, d.take(t))
}

// A create request without a response may have succeeded, even if no status contains the object.
func TestACreateWithoutAnAnswerIsRemembered(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}}]}`)
	d.fails["create config"] = errLost
	d.conflict = d.app.DeepCopy()
	d.conflict.Status.Summary = "another process's"
	require.Equal(t, []string{"create config"}, d.take(t))
	require.Empty(t, d.app.Status.Resources)

	d.has(config)
	d.app.Status.Resources, d.conflict, d.lags = nil, nil, true
	d.app.DeletionTimestamp = &metav1.Time{Time: d.now}
	d.app.Generation++
	assert.Equal(t, []string{"delete config"}, d.take(t))
}

// A report that could not be written has the only record of the objects that were created.
func TestARejectionKeepsTheUnwrittenReport(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}}]}`)
	d.fails["status shop"] = apierrors.NewInternalError(context.DeadlineExceeded)
	require.Equal(t, []string{"create config"}, d.take(t))
	require.Empty(t, d.app.Status.Resources)
	clear(d.fails)
	d.app.Unknown = []string{"spec.news"}
	require.Empty(t, d.take(t))
	assert.Len(t, d.app.Status.Resources, 1)
	assert.Len(t, d.app.Status.LastAppliedManifest, 1)
	assert.Len(t, d.app.Status.History, 1)
}

// In a newer version, the object may belong to another client.
func TestDeleteHasPreconditions(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: other}}]`)
	d.has(config)
	require.Equal(t, []string{"create other", "delete config"}, d.take(t))
	assert.Equal(t, "u-config@1", d.deleted)
}

func TestOurOwnWritesAreKnown(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1"}}, {apiVersion: v1, kind: Secret, metadata: {name: new}}]}`)
	d.has(config)
	assert.Equal(t, []string{"patch config", "create new"}, d.take(t))
	assert.Equal(t, []string{"config", "new"}, d.known, "before a watch tells")
}

func TestAddedFieldsAreRecordedFirst(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: "1"}}]}`)
	d.has(config)
	d.live[config]["data"] = map[string]any{"a": "1"}
	require.Empty(t, d.take(t))
	d.app.Spec.Manifest[0].Raw = []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": {"a": "1", "added": "2"}}`)
	d.app.Generation++
	require.Equal(t, []string{"patch config"}, d.take(t))
	assert.Contains(t, d.onRecord, "added")
}

func TestEachWriteIsALineOfTheLog(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: keys}, stringData: {key: canary}},
		{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {color: canary}}]}`)
	d.has(config)
	d.has(service)
	d.live[config]["data"] = map[string]any{"color": "theirs"}
	d.take(t)
	var lines []string
	for line := range strings.Lines(d.log.String()) {
		_, line, _ = strings.Cut(line, "] ")
		lines = append(lines, strings.TrimSpace(line))
	}
	assert.Equal(t, []string{
		`"Wrote" verb="create" object="Secret default/keys"`,
		`"Wrote" verb="patch" object="ConfigMap default/config" fields=["data.color"]`,
		`"Wrote" verb="delete" object="Service default/web"`,
	}, lines)
}

// If a status could not be stored, it is stored before the controller writes anything else.
func TestAStatusThatWasNotWrittenIsWrittenFirst(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}}]}`)
	d.fails["status shop"] = apierrors.NewInternalError(context.DeadlineExceeded)
	assert.Equal(t, []string{"create config"}, d.take(t))
	d.app.Spec.Manifest = append(d.app.Spec.Manifest, runtime.RawExtension{Raw: []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}}`)})
	assert.Empty(t, d.take(t), "the API server still has no place for it")
	clear(d.fails)
	assert.Contains(t, d.take(t), "create more")
}

// After a patch without a response, the watch may not have delivered the change yet, and the next spec may
// not set the field any more.
func TestAnObjectWhosePatchHadNoAnswerIsRead(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {color: red}}]}`)
	d.has(config)
	d.fails["patch config"] = errLost
	assert.Equal(t, []string{"patch config"}, d.take(t))
	d.late = observer.CopyMap(d.live[config])
	d.late["data"] = map[string]any{"color": "red"}
	d.app.Generation++
	d.app.Spec.Manifest[0].Raw = []byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}}`)
	clear(d.fails)
	assert.Equal(t, []string{"patch config"}, d.take(t), "the color is removed, although the watch never delivered it")
	assert.Empty(t, d.take(t))
}

// The object has changed in the meantime. The controller reads it again and corrects the current version.
// The API server has not rejected any value.
func TestAFailedGuardIsNoRefusal(t *testing.T) {
	d := newDesk(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {color: red}}]}`)
	d.has(config)
	d.live[config]["data"] = map[string]any{"color": "blue"}
	d.late = observer.CopyMap(d.live[config])
	d.late["data"] = map[string]any{"color": "green"}
	d.fails["patch config"] = &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid}}
	assert.Greater(t, len(d.take(t)), 1, "it is decided on again")
}

// A status can be stored although the Application has changed, unless another process has written a status.
func TestAStatusThatMeetsANewerVersion(t *testing.T) {
	for _, row := range []struct {
		name     string
		another  func(app *v1alpha1.Application)
		statuses int
	}{
		{"with another spec is written", func(app *v1alpha1.Application) { app.Generation++ }, 2},
		{"with another status is not", func(app *v1alpha1.Application) { app.Status.Summary = "1/1" }, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t, `{manifest: []}`)
			d.conflict = d.app.DeepCopy()
			row.another(d.conflict)
			d.take(t)
			assert.Equal(t, row.statuses, d.statuses)
		})
	}
}

// No status code shows that a field is immutable, so the remedy explains it.
func TestARefusedPatchNamesTheWayOut(t *testing.T) {
	web := kubernetes.Location{
		ID:      manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		Mapping: kubernetes.Mapping{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Namespaced: true},
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", nil)
	assert.Equal(t, "kubectl delete deployments.apps web -n shop", reconcile.ProblemOf(invalid, web, "patch", "user").Remedy.Command)
	assert.Empty(t, reconcile.ProblemOf(invalid, web, "create", "user").Remedy, "there is nothing to delete")
}

func (d *desk) Kinds() intent.Kinds { return intent.Offline() }

func (d *desk) Mapping(_ context.Context, gvk schema.GroupVersionKind) (kubernetes.Mapping, error) {
	return kubernetes.Mapping{Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: true, Watchable: true}, nil
}

func (d *desk) AnyVersion(ctx context.Context, gk schema.GroupKind) (kubernetes.Mapping, error) {
	return d.Mapping(ctx, gk.WithVersion("v1"))
}

func (d *desk) Need(map[schema.GroupVersionResource]bool, []string, kubernetes.Named, kubernetes.Ranges) {
}

func (d *desk) Range(_ context.Context, gk schema.GroupKind, _ kubernetes.Mapping, _ kubernetes.ObjectRange) (map[manifest.ID]map[string]any, error) {
	found := maps.Clone(d.live)
	maps.DeleteFunc(found, func(id manifest.ID, _ map[string]any) bool { return id.GroupKind() != gk })
	return found, nil
}

func (d *desk) MayList(_ context.Context, _ kubernetes.Mapping, r kubernetes.ObjectRange) error {
	if d.mayList != "" && r.Name == d.mayList {
		return nil
	}
	d.denied++
	return d.mayNot
}

func (d *desk) MayRead(_ context.Context, at kubernetes.Location, verb string, _ bool) (time.Duration, error) {
	d.asked = append(d.asked, verb+" "+at.ID.Name)
	return 10 * time.Second, d.mayNotRead
}

func (d *desk) Shared(at kubernetes.Location) (map[string]any, error) { return d.live[at.ID], nil }

func (d *desk) Marked(_ context.Context, gk schema.GroupKind, _ kubernetes.Mapping) (map[manifest.ID]map[string]any, error) {
	marked := map[manifest.ID]map[string]any{}
	for id, object := range d.live {
		if !d.lags && id.GroupKind() == gk && labelOf(object) == string(d.app.UID) {
			marked[id] = object
		}
	}
	return marked, d.unseen
}

func (d *desk) Ended(schema.GroupKind, kubernetes.Mapping) map[manifest.ID]map[string]any { return nil }

func (d *desk) Written(schema.GroupKind, kubernetes.Mapping) map[manifest.ID]store.WrittenObject {
	return d.newer
}

func (d *desk) Processed(kubernetes.Location, writer.Activity) {}

func (d *desk) Silent(kubernetes.Mapping) error { return nil }

func (d *desk) Profiles(context.Context, []manifest.ID) (intent.Profiles, error) {
	return intent.Profiles{}, nil
}

func (d *desk) Problem(err error, at kubernetes.Location, verb string) *plan.Problem {
	return reconcile.ProblemOf(err, at, verb, "user")
}

func (d *desk) Get(_ context.Context, at kubernetes.Location) (map[string]any, error) {
	d.reads++
	if d.late != nil {
		return d.late, nil
	}
	if object := d.live[at.ID]; object != nil {
		return object, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, at.ID.Name)
}

func (d *desk) write(verb string, id manifest.ID) error {
	d.written = append(d.written, verb+" "+id.Name)
	d.onRecord = observertest.JSON(d.app.Status.LastAppliedManifest)
	err := d.fails[verb+" "+id.Name]
	if errors.Is(err, errPanics) {
		panic("canary")
	}
	return err
}

func (d *desk) Create(_ context.Context, at kubernetes.Location, body map[string]any) (map[string]any, error) {
	return body, d.write("create", at.ID)
}

func (d *desk) Patch(_ context.Context, at kubernetes.Location, _ any) (map[string]any, error) {
	if d.patched != nil {
		d.live[at.ID]["data"] = maps.Clone(d.patched)
	}
	return d.live[at.ID], d.write("patch", at.ID)
}

func (d *desk) TryPatch(context.Context, kubernetes.Location, any) error { return nil }

func (d *desk) Delete(_ context.Context, at kubernetes.Location, uid, resourceVersion string) (map[string]any, error) {
	d.deleted = uid + "@" + resourceVersion
	if err := d.write("delete", at.ID); err != nil || d.stays[at.ID.Name] {
		return d.live[at.ID], err
	}
	return nil, nil
}

func (d *desk) Wrote(at kubernetes.Location, _ map[string]any) { d.known = append(d.known, at.ID.Name) }

func (d *desk) Gone(kubernetes.Location, types.UID) {}

func (d *desk) AwaitNamespaces(names []string) { d.awaited = names }

func (d *desk) NamespaceEnds(context.Context, string) bool { return false }

func (d *desk) Latest(*v1alpha1.Application) *v1alpha1.Application { return d.app }

func (d *desk) Read(context.Context, *v1alpha1.Application) (*v1alpha1.Application, error) {
	return d.conflict, nil
}

func (d *desk) WriteMetadata(_ context.Context, _ *v1alpha1.Application, _ []string, annotations map[string]string) (*v1alpha1.Application, error) {
	if d.app.Annotations == nil {
		d.app.Annotations = map[string]string{}
	}
	maps.Copy(d.app.Annotations, annotations)
	return d.app, nil
}

func (d *desk) WriteStatus(_ context.Context, app *v1alpha1.Application, status v1alpha1.ApplicationStatus) error {
	if d.statuses++; d.conflict != nil && app != d.conflict {
		return apierrors.NewConflict(schema.GroupResource{}, app.Name, nil)
	}
	if err := d.fails["status "+app.Name]; err != nil {
		return err
	}
	d.app.Status = status
	return nil
}

func (d *desk) Again(*v1alpha1.Application) {}

func (d *desk) Forget(*v1alpha1.Application) error { return nil }

func (d *desk) Announce(*v1alpha1.Application, *plan.Event) {}

func (d *desk) Concluded(*v1alpha1.Application, *plan.Plan, map[manifest.ID]plan.Outcome, plan.Result) {
}

func (d *desk) Report(*v1alpha1.Application) (done func()) { return func() {} }
