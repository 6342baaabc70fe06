package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/pkg/observer"
)

// TestLawOfAcceptedChanges checks a manifest change that the API server accepts. Afterwards, every field
// has its value, or the status reports it.
func TestLawOfAcceptedChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := newObject(t, r, drawKind(r).once())
		a := o.drawManifest()
		o.submit(a)
		o.settle()
		for range rapid.IntRange(1, samples.Of(1, 3)).Draw(r, "changes") {
			before := o.live()
			b := o.edited(a, rapid.IntRange(1, 4).Draw(r, "edits of the manifest"), func(next map[string]any) bool { return o.allows(nil, next) })
			o.submit(b)
			o.settle()
			if o.rejected() != "" && !o.mustAccept(before, a, b) {
				if !observer.Equal(before, o.live()) {
					o.tell("the API server refuses the manifest, and the object is not as before: %s", jsonOf(before))
				}
				return
			}
			o.checkAccepted(a, b, before)
			a = b
		}
	})
}

// mustAccept reports whether a new manifest can be applied. The API server accepts it, or has only one
// objection, which does not apply to the manifest without the defaults of the old one.
func (o *oneObject) mustAccept(before, a, b map[string]any) bool {
	_, refused := o.spec.admit(before, changed(o.spec, before, a, b).(map[string]any))
	return len(refused) == 0 || (len(refused) == 1 && o.allows(before, b))
}

// checkAccepted compares an object with a newly created one.
func (o *oneObject) checkAccepted(a, b, before map[string]any) {
	o.r.Helper()
	fresh, _ := o.spec.admit(nil, b)
	report := o.reported()
	for _, p := range o.spec.off(nil, b, fresh, o.live()) {
		if !strings.Contains(report, p.path[len(p.path)-1]) {
			o.tell("%s, and the status has no reason for it", p)
		}
	}
	for _, path := range dropped(o.spec, nil, a, b) {
		is := valueAt(o.live(), path)
		kept := is != nil && observer.Equal(is, valueAt(before, path)) && !observer.Equal(is, valueAt(fresh, path))
		if kept && !strings.Contains(report, path[len(path)-1]) {
			o.tell("%s has left the manifest and is still %s, and the status has no reason for it", pathText(path), jsonOf(is))
		}
	}
}

// dropped returns the topmost fields that the first manifest sets and the second does not.
func dropped(p *part, path []string, a, b any) (paths [][]string) {
	for _, step := range steps(p, a) {
		below := append(slices.Clone(path), step)
		was, is := valueAt(a, []string{step}), valueAt(b, []string{step})
		if is == nil {
			paths = append(paths, below)
			continue
		}
		paths = append(paths, dropped(p.at([]string{step}), below, was, is)...)
	}
	return paths
}

// steps returns the fields of a map, and the elements of a list with keys.
func steps(p *part, value any) (steps []string) {
	switch p.shape {
	case mapping:
		steps = keys(mapOf(value))
		return slices.DeleteFunc(steps, func(name string) bool { return p.part(name) == nil })
	case keyed:
		for i := range listOf(value) {
			steps = append(steps, stepTo(listOf(value), i))
		}
	}
	return steps
}

// changed returns an object after one manifest was applied to it and then replaced by another one.
func changed(p *part, live, a, b any) any {
	switch p.shape {
	case mapping, keyed:
		gone := steps(p, a)
		slices.Reverse(gone) // the last element with a key first
		for _, step := range gone {
			if valueAt(b, []string{step}) == nil {
				live = withValue(live, []string{step}, nil)
			}
		}
		for _, step := range steps(p, b) {
			at := []string{step}
			live = withValue(live, at, withKey(valueAt(b, at), changed(p.at(at), valueAt(live, at), valueAt(a, at), valueAt(b, at))))
		}
		return live
	case setOf:
		var elements []any
		for _, e := range listOf(live) {
			if !slices.Contains(listOf(a), e) && !slices.Contains(listOf(b), e) {
				elements = append(elements, e)
			}
		}
		return append(elements, listOf(b)...)
	}
	return observer.Copy(b)
}

// withKey returns an element with the key of another one.
func withKey(of, element any) any {
	m, isMap := element.(map[string]any)
	key := mapOf(of)["name"]
	if !isMap || key == nil {
		return element
	}
	m = mapOf(m)
	m["name"] = key
	return m
}
