package plan_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// originalWorld returns a world with a ConfigMap of another client, and a function that lets the Application hold it. spec
// has the other fields of the Application's spec.
func originalWorld(t *testing.T, spec string) (w *world, hold func(data string)) {
	t.Helper()
	w = newWorld(t, spec+"\nmanifest: []")
	w.live[config] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1", "creationTimestamp": "2026-01-01T00:00:00Z"},
		"data":     map[string]any{"a": "theirs", "b": "theirs"},
	}
	return w, func(data string) {
		w.edit(spec + "\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, " + data + "}]")
	}
}

// A field has the desired value when it is first held, so it has no baseline. The manifest then gets another value.
// The release restores the first value, whatever happens in between.
func TestOriginalValueOfFieldInSync(t *testing.T) {
	unread := map[manifest.ID]*plan.Problem{config: {Reason: v1alpha1.ReasonRetrying, Message: "not read"}}
	for name, change := range map[string]func(w *world, hold func(string)){
		"the value is written":        func(w *world, _ func(string)) { w.round() },
		"the process dies before":     func(w *world, _ func(string)) { w.die(false) },
		"the process dies after":      func(w *world, _ func(string)) { w.die(true) },
		"another client sets it, too": func(w *world, _ func(string)) { w.set("ours", "data", "a"); w.round() },
		"another client sets another": func(w *world, _ func(string)) { w.set("drifted", "data", "a"); w.round() },
		"another field is released":   func(w *world, hold func(string)) { hold("data: {a: ours}"); w.round() },
		"the request fails":           func(w *world, _ func(string)) { w.refuse = rejectedUpdate(); w.round(); w.refuse = nil },
		"the object cannot be read":   func(w *world, _ func(string)) { w.blocked = unread; w.round(); w.blocked = nil },
		"it changes while it is unread": func(w *world, hold func(string)) {
			w.blocked = unread
			w.round()
			w.blocked = nil
			hold("data: {a: more, b: ours}")
		},
	} {
		for _, spec := range []string{"ownership: Share", "{adoption: Always, onRelease: Restore}"} {
			t.Run(name+"/"+spec, func(t *testing.T) {
				if spec[0] == '{' {
					spec = "adoption: Always\nonRelease: Restore"
				}
				w, hold := originalWorld(t, spec)
				before := observer.CopyMap(w.live[config])
				hold("data: {a: theirs, b: ours}")
				w.round()
				w.quiet()

				hold("data: {a: ours, b: ours}")
				change(w, hold)
				for range 3 {
					w.round()
				}
				require.Contains(t, []any{"ours", "more"}, get(w.only(), "data", "a"))

				w.edit(spec + "\nmanifest: []")
				w.round()
				w.round()
				assert.Equal(t, get(before, "data"), get(w.live[config], "data"))
			})
		}
	}
}

// assertRestored releases the ConfigMap, and checks that it has its first data again.
func assertRestored(w *world, spec string, before map[string]any) {
	w.t.Helper()
	w.edit(spec + "\nmanifest: []")
	w.round()
	w.round()
	assert.Equal(w.t, get(before, "data"), get(w.live[config], "data"))
}

func rejectedUpdate() map[plan.Action]plan.Outcome {
	return map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: errors.ErrUnsupported.Error()}}}
}

// A field enters the manifest of an adopted object while another one leaves it, or below a map that the manifest
// held as existing. It gets a baseline.
func TestOriginalValueOfNewField(t *testing.T) {
	for name, first := range map[string]string{
		"another field leaves the manifest": "data: {b: ours}",
		"the manifest had the empty map":    "data: {}",
	} {
		t.Run(name, func(t *testing.T) {
			const spec = "adoption: Always\nonRelease: Restore"
			w, hold := originalWorld(t, spec)
			before := observer.CopyMap(w.live[config])
			hold(first)
			w.round()
			hold("data: {a: ours}")
			for range 3 {
				w.round()
			}
			require.Equal(t, "ours", get(w.only(), "data", "a"))
			w.edit(spec + "\nmanifest: []")
			w.round()
			w.round()
			assert.Equal(t, get(before, "data"), get(w.live[config], "data"))
		})
	}
}

// A held field is absent, because the API server omits its empty value. It is written with another field of its parent
// map, and removed when it is released.
func TestOriginalValueOfOmittedField(t *testing.T) {
	for _, spec := range []string{"ownership: Share", "adoption: Always\nonRelease: Restore"} {
		t.Run(spec, func(t *testing.T) {
			w := newWorld(t, spec+"\nmanifest: []")
			song := manifest.ID{Group: "example.com", Kind: "Song", Namespace: "default", Name: "top50"}
			w.live[song] = map[string]any{
				"apiVersion": "example.com/v1", "kind": "Song",
				"metadata": map[string]any{"name": "top50", "namespace": "default", "uid": "u-1", "resourceVersion": "1"},
			}
			for _, content := range []string{"{m: {k: {}, w: false}}", "{m: {k: {v: 0}}}", "{m: {k: {v: 0}, w: false}}", "{m: {k: {v: 0}}}"} {
				w.edit(spec + "\nmanifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: " + content + "}]")
				for range 3 {
					w.round()
				}
			}
			w.edit(spec + "\nmanifest: []")
			w.round()
			w.round()
			assert.NotContains(t, w.live[song], "spec")
		})
	}
}

// The responses of an adoption and of the release are lost. The object is not deleted, although it has no tracking
// metadata any more.
func TestReleasedAdoptedObjectIsNotDeleted(t *testing.T) {
	w, hold := originalWorld(t, "adoption: Always")
	w.app.CreationTimestamp.Time = w.now.AddDate(-1, 0, 0) // the object is newer
	hold("data: {a: ours}")
	w.die(true)
	w.edit("adoption: Always\nmanifest: []")
	w.refuse = rejectedUpdate()
	w.round()
	w.refuse = nil
	w.die(true)
	require.Empty(t, get(w.only(), "metadata", "labels"))
	w.round()
	w.round()
	assert.Contains(t, w.live, config)
}

// The object is replaced, and the response of the next adoption is lost. The record still describes the first object.
func TestOriginalValueAfterLostAdoption(t *testing.T) {
	const spec = "adoption: Always\nonRelease: Restore"
	w, hold := originalWorld(t, spec)
	replaced := observer.CopyMap(w.live[config])
	set(replaced, "u-2", "metadata", "uid")
	before := observer.CopyMap(replaced)
	hold("data: {a: ours}")
	w.round()
	w.live[config] = replaced
	hold("data: {b: ours}")
	w.refuse = rejectedUpdate()
	w.round()
	w.refuse = nil
	w.die(true)
	hold("data: {a: ours, b: ours}")
	for range 3 {
		w.round()
	}
	require.Equal(t, map[string]any{"a": "ours", "b": "ours"}, get(w.only(), "data"))
	assertRestored(w, spec, before)
}

// A field leaves the manifest and is restored, and enters it again while another change is rejected.
func TestOriginalValueOfReturningField(t *testing.T) {
	const spec = "adoption: Always\nonRelease: Restore"
	w, hold := originalWorld(t, spec)
	before := observer.CopyMap(w.live[config])
	hold("data: {a: ours, b: ours}")
	w.round()
	hold("data: {b: more}")
	w.die(true)
	require.Equal(t, "theirs", get(w.only(), "data", "a"))
	w.refuse = rejectedUpdate()
	w.round()
	w.refuse = nil
	hold("data: {a: ours, b: more}")
	for range 3 {
		w.round()
	}
	require.Equal(t, map[string]any{"a": "ours", "b": "more"}, get(w.only(), "data"))
	assertRestored(w, spec, before)
}

// Another Application adopts the object, and writes its own value. The original value is the first one.
func TestOriginalValueAfterTakeover(t *testing.T) {
	const spec = "adoption: Always\nonRelease: Restore"
	w, hold := originalWorld(t, spec)
	before := observer.CopyMap(w.live[config])
	hold("data: {a: ours}")
	w.round()
	w.round()
	w.set("other", "metadata", "labels", v1alpha1.LabelApplicationUID)
	w.set("default/other:ConfigMap:default/config", "metadata", "annotations", v1alpha1.AnnotationTrackingID)
	w.set("other", "data", "a")
	for range 2 {
		w.round()
	}
	require.Equal(t, "ours", get(w.only(), "data", "a"))
	assertRestored(w, spec, before)
}

// The first write of a shared object may have been made, although the inventory does not have its UID yet.
func TestObjectMayExistAfterWriteAhead(t *testing.T) {
	w, hold := originalWorld(t, "ownership: Share")
	hold("data: {a: ours}")
	w.protect(w.decide())
	status := w.app.Status.Resources[0]
	status.Reason = v1alpha1.ReasonDeletionUnconfirmed
	assert.Empty(t, status.UID)
	assert.True(t, plan.MayExist(status))
}

// The inventory can have a baseline of an earlier object of the name.
func TestWriteAheadNamesItsObject(t *testing.T) {
	w, hold := originalWorld(t, "ownership: Share")
	before := observer.CopyMap(w.live[config])
	hold("data: {a: ours}")
	w.app.Status.Resources = []v1alpha1.ResourceStatus{{
		ResourceReference: v1alpha1.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "config"},
		Ownership:         v1alpha1.OwnershipShare, UID: "u-1", BaselineUID: "u-0",
	}}
	w.die(true)
	w.round()
	w.edit("ownership: Share\nmanifest: []")
	w.round()
	assert.Equal(t, before, w.live[config])
}

// One field is restored, and another one of the same release is left to an Application that waits. The baseline of the
// second one remains until a patch removes the claim.
func TestBaselineOfLeftFieldUntilClaimGoes(t *testing.T) {
	c := newClaimants(t, "one", "two")
	one, two := c.worlds[0], c.worlds[1]
	one.holders = map[string]*v1alpha1.Application{"default/two": two.app}
	two.holders = map[string]*v1alpha1.Application{"default/one": one.app}
	one.edit(part(map[string]string{"a": "one", "b": "one"}))
	c.reconcile(one)
	two.edit(part(map[string]string{"a": "two"}))
	c.reconcile(two)
	one.edit(part(map[string]string{"free": "one"}))
	c.reconcile(one)
	require.Equal(t, "default/one", c.holders()["data.a"], "the first patch only restores")
	c.reconcile(two)
	for _, w := range []*world{one, two, one, two} {
		c.reconcile(w)
	}
	require.Equal(t, "two", get(c.live, "data", "a"))
	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	one.edit("ownership: Share\nmanifest: []")
	c.reconcile(one)
	assert.Equal(t, c.before["data"], c.live["data"])
}

// The holder of a field releases it to an Application that waits, and a third one takes it first. The original value
// comes from the copy. It is not the value that the former holder left.
func TestOriginalValueFromWaiter(t *testing.T) {
	c := newClaimants(t, "one", "two", "three")
	one, two, three := c.worlds[0], c.worlds[1], c.worlds[2]
	for _, w := range c.worlds {
		w.holders = map[string]*v1alpha1.Application{"default/one": one.app, "default/two": two.app, "default/three": three.app}
		delete(w.holders, "default/"+w.app.Name)
	}
	one.edit(part(map[string]string{"a": "one"}))
	c.reconcile(one)
	two.edit(part(map[string]string{"a": "two"}))
	c.reconcile(two)
	one.edit("ownership: Share\nmanifest: []")
	c.reconcile(one)
	require.Equal(t, "one", get(c.live, "data", "a"))

	three.edit(part(map[string]string{"a": "three"}))
	c.reconcile(three)
	c.reconcile(two)
	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	three.edit("ownership: Share\nmanifest: []")
	c.reconcile(three)
	assert.Equal(t, "theirs", get(c.live, "data", "a"))
}

// The record of an object that was deleted does not show which elements of its successor another client has renamed.
func TestElementsOfNewObjectAreNotRenamed(t *testing.T) {
	for _, spec := range []string{"ownership: Share", "adoption: IfUnowned"} {
		t.Run(spec, func(t *testing.T) {
			web := manifest.ID{Kind: "Service", Namespace: "default", Name: "web"}
			service := func(uid string, port int64) map[string]any {
				return map[string]any{
					"apiVersion": "v1", "kind": "Service",
					"metadata": map[string]any{"name": "web", "namespace": "default", "uid": uid, "resourceVersion": "1"},
					"spec":     map[string]any{"ports": []any{map[string]any{"port": port, "protocol": "TCP"}}},
				}
			}
			w := newWorld(t, spec+"\nmanifest: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}, {port: 82}]}}]")
			w.live[web] = service("u-old", 443)
			for range 3 {
				w.round()
			}
			require.Len(t, get(w.only(), "spec", "ports"), 3)
			w.live[web] = service("u-new", 81)
			for range 3 {
				w.round()
			}
			require.Len(t, get(w.only(), "spec", "ports"), 3)
			assert.Equal(t, map[string]any{"port": int64(81), "protocol": "TCP"}, get(w.only(), "spec", "ports").([]any)[0])
		})
	}
}
