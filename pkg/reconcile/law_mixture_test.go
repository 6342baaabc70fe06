package reconcile_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestLawOfIdentity checks that the correction of a write by another client restores the object. Otherwise the
// API server rejects the correction, and the status contains the reason.
func TestLawOfIdentity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := newObject(t, r, drawKind(r).once())
		manifest := o.drawManifest()
		o.submit(manifest)
		o.settle()
		o.inSync("after the object was created")
		for range rapid.IntRange(1, samples.Of(1, 3)).Draw(r, "writes") {
			before := o.live()
			o.foreign()
			wrote := o.live()
			o.settle()
			o.checkIdentity(manifest, before)
			o.checkFree(manifest, wrote)
		}
	})
}

// checkIdentity compares all fields that a manifest holds with their values before another client writes.
func (o *oneObject) checkIdentity(manifest, before map[string]any) {
	o.r.Helper()
	for _, p := range o.spec.off(nil, manifest, before, o.live()) {
		if o.keeps(p, o.live()) && strings.Contains(o.reported(), pathText(p.path)) {
			continue
		}
		path := missing(p.path, o.live())
		if !o.refusesAround(path, before, o.live()) {
			o.tell("%s, and the API server would accept it", p)
		}
		if !o.mentions(o.rejected(), path, before, o.live()) {
			o.tell("%s, the API server refuses it, and the status does not name it", p)
		}
	}
}

// checkFree checks that free fields of another client are removed only if the API server rejects them in
// combination with the held fields.
func (o *oneObject) checkFree(manifest, wrote map[string]any) {
	o.r.Helper()
	for _, path := range o.spec.lost(nil, manifest, wrote, o.live()) {
		if value := valueAt(wrote, path); o.allows(o.live(), withValue(o.live(), path, value).(map[string]any)) {
			o.tell("%s is free, was %s and is gone without need", pathText(path), jsonOf(value))
		}
	}
}

// TestLawOfNoMixture checks that a rejected manifest changes nothing and that the last accepted manifest is
// held meanwhile. When the old manifest is back, nothing is written.
func TestLawOfNoMixture(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := newObject(t, r, drawKind(r, "fixed", "text").once())
		fixed := o.spec.units[0].parts[0].name
		a := o.drawManifest()
		a[fixed] = "a"
		o.submit(a)
		o.settle()
		o.inSync("after the object was created")
		before := o.object()

		b := o.edited(a, rapid.IntRange(1, 4).Draw(r, "edits of the manifest"), func(next map[string]any) bool { return o.allows(nil, next) })
		b = withValue(b, []string{fixed}, "b").(map[string]any)
		o.submit(b)
		o.settle()
		if is := o.object(); !observer.Equal(withoutVersion(before), withoutVersion(is)) {
			o.tell("the API server refuses the manifest, and the object is %s and not as before: %s", jsonOf(is["spec"]), jsonOf(before["spec"]))
		}
		o.namesRefused(fixed)

		o.foreign()
		o.settle()
		o.checkIdentity(a, before["spec"].(map[string]any))
		if len(o.spec.off(nil, a, before["spec"], o.live())) > 0 {
			return
		}
		o.namesRefused(fixed)
		writes := o.server.writes
		o.submit(a)
		o.settle()
		if o.server.writes != writes {
			o.tell("the manifest is as it was, and the object was written")
		}
		o.inSync("with the old manifest")
	})
}

// namesRefused checks that the status contains a field and the API server's reason.
func (o *oneObject) namesRefused(name string) {
	o.r.Helper()
	if text := o.rejected(); !strings.Contains(text, "spec."+name) || !strings.Contains(text, "immutable") {
		o.tell("the status does not report that the API server rejects the immutable spec.%s: %q", name, text)
	}
}

func (o *oneObject) inSync(when string) {
	o.r.Helper()
	if o.held() != "True" {
		o.tell("Held is %s %s", o.held(), when)
	}
}

func withoutVersion(object map[string]any) map[string]any {
	object = observer.CopyMap(object)
	delete(object["metadata"].(map[string]any), "resourceVersion")
	return object
}
