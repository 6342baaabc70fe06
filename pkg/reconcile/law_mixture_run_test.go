package reconcile_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// newObject returns an API server with a generated kind, and a controller.
func newObject(t *testing.T, r *rapid.T, spec *part) *oneObject {
	t.Helper()
	id := manifest.ID{Group: observertest.GVK.Group, Kind: observertest.GVK.Kind, Namespace: "default", Name: "a"}
	c := newCluster(t, r, observertest.Server{}, []manifest.ID{id})
	*c.log = nil
	c.kinds = generated{intent.Offline(), typeOf(spec)}
	o := &oneObject{cluster: c, id: id, spec: spec, managers: observertest.NewManagers(spec.merged())}
	o.server.managers["u1"] = o.managers
	o.note("the kind is %s", spec)
	return o
}

// drawManifest returns a spec that the API server accepts for a new object.
func (o *oneObject) drawManifest() map[string]any {
	for range 20 {
		spec := o.spec.draw(o.r).(map[string]any)
		if len(spec) > 0 && o.allows(nil, spec) {
			return spec
		}
	}
	o.r.Skip("no valid manifest")
	return nil
}

// submit changes the spec of the Application.
func (o *oneObject) submit(spec map[string]any) {
	o.note("manifest: %s", jsonOf(spec))
	object := map[string]any{
		"apiVersion": observertest.GVK.GroupVersion().String(), "kind": o.id.Kind, "metadata": map[string]any{"name": o.id.Name}, "spec": spec,
	}
	spent := *o.log
	o.cluster.submit(desires{resources: map[manifest.ID]*desire{o.id: {manifest: object}}})
	*o.log = spent
}

// attempt runs one reconciliation. It reports whether another one is due immediately.
func (o *oneObject) attempt() bool {
	o.confirm()
	o.sync()
	o.decided, o.basis = desires{}, o.status()
	reconciler := o.reconciler()
	reconciler.Target = func(*v1alpha1.Application) (reconcile.Target, error) { return oneTarget{target{o.cluster}, o}, nil }
	changed := o.changed
	o.changed = false
	quiet := klog.NewContext(o.t.Context(), klog.Logger{})
	after, err := reconciler.Reconcile(quiet, o.app.DeepCopy(), o.memory, reconcile.News{Changed: changed})
	o.rethrow()
	return err != nil || (after > 0 && after <= time.Second)
}

// settle reconciles until nothing changes any more.
func (o *oneObject) settle() {
	o.r.Helper()
	for range 20 {
		writes, status := o.server.writes, o.reported()
		again := o.attempt()
		o.now = o.now.Add(time.Hour)
		if !again && writes == o.server.writes && status == o.reported() {
			o.note("at rest: %s", jsonOf(o.live()))
			return
		}
	}
	o.fail("the controller does not come to rest")
}

// reported returns the status without last-applied states and accepted forms.
func (o *oneObject) reported() string {
	var status map[string]any
	decode(o.status(), &status)
	for _, record := range []string{"lastAppliedManifest", "lastObservedManifest", "mangledObserverSchema", "record", "history", "accepted"} {
		delete(status, record)
	}
	return jsonOf(status)
}

// rejected returns the message of the resource if it has the reason Rejected, or "".
func (o *oneObject) rejected() string {
	for _, r := range o.status().Resources {
		if r.Reason == v1alpha1.ReasonRejected {
			return r.Message
		}
	}
	return ""
}

// edited draws a spec that differs in some fields and that the API server accepts as an update of the first
// one.
func (o *oneObject) edited(spec map[string]any, edits int, allows func(next map[string]any) bool) map[string]any {
	for range edits {
		if next, _ := o.spec.edit(o.r, spec).(map[string]any); len(next) > 0 && allows(next) {
			spec = next
		}
	}
	return spec
}

// foreign changes the object as another client.
func (o *oneObject) foreign() {
	before := o.live()
	next := o.edited(before, rapid.IntRange(1, 4).Draw(o.r, "edits"), func(next map[string]any) bool { return o.allows(before, next) })
	o.overwrite(next)
}

// overwrite replaces the spec as another client.
func (o *oneObject) overwrite(spec map[string]any) {
	object := mapOf(o.object())
	object["spec"] = spec
	if _, err := o.write("other", object, false); err != nil {
		o.fail("the write of another client is refused: %v", err)
	}
	o.note("another client writes: %s", jsonOf(o.live()))
}

// tell fails the test, and prints the conditions and the reason of the resource.
func (o *oneObject) tell(format string, args ...any) {
	o.r.Helper()
	for _, r := range o.status().Resources {
		o.note("the status of the resource is %q %s", r.Reason, r.Message)
	}
	for _, c := range o.status().Conditions {
		o.note("%s is %s, %s: %.200s", c.Type, c.Status, c.Reason, c.Message)
	}
	o.fail(format, args...)
}

// decode converts a value via JSON.
func decode(from, to any) {
	raw, err := json.Marshal(from)
	if err == nil {
		err = json.NewDecoder(strings.NewReader(string(raw))).Decode(to)
	}
	if err != nil {
		panic(err)
	}
}
