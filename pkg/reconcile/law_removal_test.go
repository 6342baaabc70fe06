package reconcile_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/klog/v2"
	"pgregory.net/rapid"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/internal/samples"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	kubernetes "holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// TestLawOfRemoval checks what remains of the fields that a manifest drops. Those that the Application wrote are
// removed. Those that another client wrote remain, and an event reports them.
func TestLawOfRemoval(t *testing.T) {
	for name, kills := range map[string]bool{"without deaths": false, "with deaths": true} {
		t.Run(name, func(t *testing.T) {
			repeatable.Cases(t, samples.Of(500, 50_000))
			counts := map[string]int{}
			rapid.Check(t, func(r *rapid.T) {
				w := newRemovalWorld(t, r, kills, counts)
				for range rapid.IntRange(2, 5).Draw(r, "manifests") {
					w.change()
					w.judgeRemoval()
				}
			})
			t.Logf("%v", counts)
			for _, verdict := range []string{"removed", "left to another client", "left to a client that applies it", "kept as free"} {
				if counts[verdict] == 0 && !repeatable.UnderRace {
					t.Errorf("no field was %s", verdict)
				}
			}
		})
	}
}

// removalWorld is an object with the authors of its fields.
type removalWorld struct {
	*oneObject
	kills  bool
	counts map[string]int
	// authors contains the manager that last wrote each field, by path.
	authors map[string]string
	free    string           // a path of spec.fields, or ""
	adopts  bool             // the object existed before the Application
	ever    map[string][]any // the values of the fields in all manifests so far
	recent  map[string]bool  // the fields of the manifests since the last one that was reconciled, and of that one
	held    map[string]any   // the spec of the manifest before, if nothing was reconciled since
	want    map[string]any   // the spec of the manifest
	emptied bool             // another client has emptied managedFields
	first   bool             // another client has applied since then
	left    map[string]bool  // the fields of other clients at the attempts since the last manifest that was reconciled
	events  []string         // since the last manifest
}

// leaf is a single value, or a list without keys.
type leaf struct {
	path  []string
	value any
}

func newRemovalWorld(t *testing.T, r *rapid.T, kills bool, counts map[string]int) *removalWorld {
	t.Helper()
	w := &removalWorld{
		oneObject: newObject(t, r, drawKind(r, rapid.SampledFrom([]string{"args", "text"}).Draw(r, "first")).once()), kills: kills, counts: counts, authors: map[string]string{}, ever: map[string][]any{}, recent: map[string]bool{}, left: map[string]bool{},
	}
	w.wrote = w.recordAuthors
	w.want = w.drawManifest()
	if w.adopts = rapid.Bool().Draw(r, "adopts"); w.adopts {
		object := w.whole(w.edited(w.want, 3, func(next map[string]any) bool { return w.allows(nil, next) }))
		if _, err := w.write("owner", object, false); err != nil {
			w.fail("the owner's create is refused: %v", err)
		}
		w.note("the owner creates %s", jsonOf(w.live()))
	}
	// Paths through an element are invalid after the element has left the manifest.
	if paths := slices.DeleteFunc(w.spec.leaves(nil, w.want), isInElement); len(paths) > 0 && rapid.Bool().Draw(r, "frees") {
		w.free = pathText(rapid.SampledFrom(paths).Draw(r, "free").path)
	}
	w.submitSpec()
	w.reconcile()
	return w
}

// whole returns an object with a spec.
func (w *removalWorld) whole(spec map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": observertest.GVK.GroupVersion().String(), "kind": w.id.Kind,
		"metadata": map[string]any{"name": w.id.Name, "namespace": w.id.Namespace}, "spec": spec,
	}
}

// submitSpec changes the spec of the Application. spec.fields names all fields of the manifest, or only those that are
// free, or there is none.
func (w *removalWorld) submitSpec() {
	for _, l := range w.spec.leaves(nil, w.want) {
		w.ever[pathText(l.path)] = append(w.ever[pathText(l.path)], l.value)
		w.recent[pathText(l.path)] = true
	}
	next := desires{
		adoption:  string(v1alpha1.AdoptAlways),
		resources: map[manifest.ID]*desire{w.id: {manifest: w.whole(w.want)}}, suspend: rapid.IntRange(0, 4).Draw(w.r, "suspended") == 0,
	}
	item := v1alpha1.ResourceFields{Resource: v1alpha1.ResourceSelector{Kind: w.id.Kind, Name: w.id.Name}}
	if w.free != "" {
		item.Free = []string{w.free}
	}
	if rapid.Bool().Draw(w.r, "holds all") {
		item.Hold = []v1alpha1.HeldField{{Path: observer.AllFields}}
	}
	if item.Free != nil || item.Hold != nil {
		next.fields = []v1alpha1.ResourceFields{item}
	}
	w.note("manifest: %s, suspended %t, fields %s", jsonOf(w.want), next.suspend, jsonOf(next.fields))
	spent := *w.log
	w.cluster.submit(next)
	*w.log = spent
}

func isInElement(l leaf) bool { return slices.ContainsFunc(l.path, isStepToElement) }

// apply lets another client apply fields of the object, some of them with other values.
func (w *removalWorld) apply() {
	before, saved := w.live(), *w.managers
	next := w.edited(before, rapid.IntRange(0, 2).Draw(w.r, "edits"), func(next map[string]any) bool { return w.allows(before, next) })
	fields, force := w.spec.some(w.r, next).(map[string]any), rapid.Bool().Draw(w.r, "force")
	after, err := w.managers.Apply(w.object(), map[string]any{"spec": fields}, "applier", force, w.now)
	if err != nil {
		w.counts["conflicts of an apply"]++
		return
	}
	stored, err := w.admits(w.object(), after)
	if err != nil {
		*w.managers = saved
		return
	}
	w.counts["applies"]++
	w.first = w.first || w.emptied
	w.store("applier", stored)
	w.note("another client applies %s, force %t: %s", jsonOf(fields), force, jsonOf(w.live()))
}

// some returns some parts of a value, which together are a value of the kind, too.
func (p *part) some(r *rapid.T, value any) any {
	switch p.shape {
	case mapping:
		some := map[string]any{}
		for _, name := range keys(mapOf(value)) {
			if child := p.part(name); child != nil && rapid.Bool().Draw(r, name) {
				some[name] = child.some(r, mapOf(value)[name])
			}
		}
		return some
	case keyed, setOf:
		some := []any{}
		for _, e := range listOf(value) {
			if !rapid.Bool().Draw(r, keyOf(e)) {
				continue
			}
			if p.shape == keyed {
				key := mapOf(e)["name"]
				e = p.element().some(r, e)
				mapOf(e)["name"] = key
			}
			some = append(some, e)
		}
		return some
	}
	return observer.Copy(value)
}

// empty lets another client empty managedFields.
func (w *removalWorld) empty() {
	w.managers.Empty()
	w.emptied = true
	w.store("", observer.CopyMap(w.object()))
	w.note("another client empties managedFields")
}

// ours returns the fields that the Application wrote last and that no client applies, and those that a client applies.
func (w *removalWorld) ours() (isOurs, isApplied map[string]bool) {
	isOurs, isApplied = map[string]bool{}, map[string]bool{}
	for path, author := range w.authors {
		isOurs[path] = author == w.manager()
	}
	applied, err := w.managers.Applied(w.object())
	if err != nil {
		w.fail("%v", err)
	}
	for _, l := range w.spec.leaves(nil, mapOf(get(applied, "spec"))) {
		isOurs[pathText(l.path)], isApplied[pathText(l.path)] = false, true
	}
	return isOurs, isApplied
}

// isAlias reports whether a field has another name.
func isAlias(l leaf) bool {
	name := l.path[len(l.path)-1]
	return name != "name" && strings.HasPrefix(strings.TrimPrefix(name, "old"), "name")
}

// wasApplied reports whether a value was ever in a manifest.
func (w *removalWorld) wasApplied(l leaf) bool {
	return slices.ContainsFunc(w.ever[pathText(l.path)], func(value any) bool { return observer.Equal(value, l.value) })
}

// change lets another client write, and submits another manifest, in any order. Then all faults end.
func (w *removalWorld) change() {
	edits := func() {
		if w.object() == nil {
			return
		}
		switch rapid.IntRange(0, 12).Draw(w.r, "another client") {
		case 0, 1, 2, 3:
			w.foreign()
		case 4, 5, 6, 7:
			w.apply()
		case 8:
			w.empty()
		}
	}
	edits()
	if rapid.Bool().Draw(w.r, "the drift is corrected first") {
		w.reconcile()
	}
	for range rapid.IntRange(1, 2).Draw(w.r, "versions") {
		w.want = w.edited(w.want, rapid.IntRange(1, 4).Draw(w.r, "edits of the manifest"), func(next map[string]any) bool { return w.allows(nil, next) })
		w.submitSpec()
		edits()
		if rapid.Bool().Draw(w.r, "attempted") {
			if w.object() != nil {
				isOurs, _ := w.ours()
				for path, is := range isOurs {
					w.left[path] = w.left[path] || !is
				}
			}
			w.storm = w.kills
			w.try()
			w.storm, w.held = false, nil // it may have been removed
		}
	}
	if w.app.Spec.Suspend {
		edits()
		spec := w.wanted
		spec.suspend = false
		w.cluster.submit(spec)
		w.note("it is resumed")
	}
}

// judgeRemoval reconciles, and compares the object with the one before.
func (w *removalWorld) judgeRemoval() {
	w.r.Helper()
	before, authors := w.live(), maps.Clone(w.authors)
	isOurs, isApplied := w.ours()
	wasRejected := w.rejected() != "" // then the drift of the last accepted values may be corrected first
	w.reconcile()
	defer func() { w.held, w.events = w.want, nil }()
	isRejection := func(note string) bool { return strings.Contains(note, "the API server rejects") }
	if wasRejected || w.rejected() != "" || slices.ContainsFunc(w.events, isRejection) { // the last accepted values are held meanwhile
		w.counts["excluded: the API server rejects the manifest"]++
		return
	}
	for _, l := range w.spec.leaves(nil, before) {
		path := pathText(l.path)
		if valueAt(w.want, l.path) != nil {
			continue // held, or free in the manifest
		}
		now := valueAt(w.live(), l.path)
		isFree := w.free != "" && observer.IsUnder(path, w.free)
		switch {
		case isFree && w.isLost(l):
			w.tell("%s is free, was %s, and is gone", path, jsonOf(l.value))
		case isFree:
			w.counts["kept as free"]++
		case !isOurs[path] && w.isLost(l) && w.isRenamed(l, before):
			w.counts["excluded: in an element that counts as renamed"]++
		case !isOurs[path] && w.isLost(l) && w.emptied && (w.wasApplied(l) || isAlias(l)):
			w.counts["excluded: no manager has an applied value, because managedFields were emptied"]++
		case !isOurs[path] && w.isLost(l):
			w.tell("%s of %s was %s, and is gone", path, authors[path], jsonOf(l.value))
		case !isOurs[path] && observer.Equal(now, l.value) && valueAt(w.held, l.path) != nil && !w.adopts && !w.kills && !w.isReported():
			w.tell("%s of %s remains, and no event reports it: %q", path, authors[path], w.events)
		case isApplied[path]:
			w.counts["left to a client that applies it"]++
		case !isOurs[path]:
			w.counts["left to another client"]++
		case w.emptied && now != nil && (w.adopts || w.first || isInElement(l)):
			w.counts["excluded: the writer is unknown, because managedFields were emptied"]++
		case w.left[path] && now != nil:
			w.counts["excluded: left at an earlier attempt, which may have changed its owner"]++
		case w.recent[path] && now != nil && !w.hasOtherElements(l) && !w.isPartlyKept(l) && w.isRemovable(l) && !w.isInSharedElement(l, before, isOurs):
			w.tell("%s was written by the Application, has left the manifest, and remains %s", path, jsonOf(now))
		case w.recent[path] && now == nil:
			w.counts["removed"]++
		}
	}
	clear(w.recent)
	clear(w.left)
	for _, l := range w.spec.leaves(nil, w.want) {
		w.recent[pathText(l.path)] = true
	}
}

// isLost reports whether a field is gone or has another value, although the API server would accept it next to the held
// fields. A list without keys has lost something only if one of the elements was never in a manifest, or if another client
// applies it.
func (w *removalWorld) isLost(l leaf) bool {
	now := valueAt(w.live(), l.path)
	if observer.Equal(now, l.value) {
		return false
	}
	if _, isList := l.value.([]any); isList && !w.hasOtherElements(l, now) {
		return false
	}
	next, _ := withValue(w.live(), l.path, l.value).(map[string]any)
	served, refused := w.spec.admit(w.live(), next)
	// The held fields must keep their values: another name of one of them cannot.
	isChanged := func(held leaf) bool { return !observer.Equal(valueAt(served, held.path), valueAt(w.live(), held.path)) }
	return len(refused) == 0 && observer.Equal(valueAt(served, l.path), l.value) && !slices.ContainsFunc(w.spec.leaves(nil, w.want), isChanged)
}

// hasOtherElements reports whether a list without keys has an element that is neither in another list nor was ever in a
// manifest.
func (w *removalWorld) hasOtherElements(l leaf, others ...any) bool {
	if _, isList := l.value.([]any); !isList {
		return false
	}
	p := w.spec.at(l.path)
	for _, list := range w.ever[pathText(l.path)] {
		others = append(others, p.serve(list))
	}
	return slices.ContainsFunc(listOf(l.value), func(e any) bool {
		return !slices.ContainsFunc(others, func(list any) bool {
			return slices.ContainsFunc(listOf(list), func(other any) bool { return observer.Equal(e, other) })
		})
	})
}

// isPartlyKept reports whether elements of a list without keys remain: another client has added equal ones, and an event
// reports the list, or the API server stores them in another form than the manifests, so that they are not found by
// their values.
func (w *removalWorld) isPartlyKept(l leaf) bool {
	_, isList := l.value.([]any)
	return isList && w.isReported() || isList && slices.ContainsFunc(w.ever[pathText(l.path)], func(list any) bool {
		return !observer.Equal(w.spec.at(l.path).serve(list), list)
	})
}

// isRenamed reports whether a field is in an element that may be one of the manifest, whose key another client has
// changed: an element of the manifest is missing in that list. docs/semantics.md, "Lists", says when its key is corrected.
func (w *removalWorld) isRenamed(l leaf, before map[string]any) bool {
	for i, step := range l.path {
		want, list := listOf(valueAt(w.want, l.path[:i])), listOf(valueAt(before, l.path[:i]))
		if isStepToElement(step) && slices.ContainsFunc(want, func(e any) bool { return find(list, e) == nil }) {
			return true
		}
	}
	return false
}

// isRemovable reports whether the API server accepts the removal of a field, and does not set it again.
func (w *removalWorld) isRemovable(l leaf) bool {
	next, _ := withValue(w.live(), l.path, nil).(map[string]any)
	served, refused := w.spec.admit(w.live(), next)
	return len(refused) == 0 && valueAt(served, l.path) == nil
}

// isInSharedElement reports whether a dropped element around a field contains a field of another client.
func (w *removalWorld) isInSharedElement(l leaf, before map[string]any, isOurs map[string]bool) bool {
	for i, step := range l.path {
		if !isStepToElement(step) || valueAt(w.want, l.path[:i+1]) != nil {
			continue
		}
		for _, other := range w.spec.leaves(nil, before) {
			isIn := len(other.path) > i && slices.Equal(other.path[:i+1], l.path[:i+1])
			if isIn && !isOurs[pathText(other.path)] {
				return true
			}
		}
	}
	return false
}

// isReported reports whether an event reports fields that were not removed.
func (w *removalWorld) isReported() bool {
	return slices.ContainsFunc(w.events, func(note string) bool { return strings.Contains(note, "not removed: ") })
}

// recordAuthors records who wrote the fields that differ between two versions of the object.
func (w *removalWorld) recordAuthors(manager string, before, after map[string]any) {
	was, is := map[string]any{}, map[string]any{}
	for versions, spec := range map[*map[string]any]any{&was: get(before, "spec"), &is: get(after, "spec")} {
		for _, l := range w.spec.leaves(nil, mapOf(spec)) {
			(*versions)[pathText(l.path)] = l.value
		}
	}
	for path, value := range is {
		if old, had := was[path]; !had || !observer.Equal(old, value) {
			w.authors[path] = manager
		}
	}
	maps.DeleteFunc(w.authors, func(path, _ string) bool { _, has := is[path]; return !has })
}

// leaves returns the single values of a value, and its lists without keys.
func (p *part) leaves(path []string, value any) (found []leaf) {
	switch p.shape {
	case mapping:
		m := mapOf(value)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if child := p.part(name); child != nil {
				found = append(found, child.leaves(append(slices.Clone(path), name), m[name])...)
			}
		}
		return found
	case keyed, setOf:
		elements := listOf(value)
		for i, e := range elements {
			at := append(slices.Clone(path), stepTo(elements, i))
			if p.shape == keyed {
				found = append(found, leaf{append(slices.Clone(at), "name"), keyOf(e)})
				found = append(found, p.element().leaves(at, e)...)
			} else {
				found = append(found, leaf{at, e})
			}
		}
		return found
	}
	return []leaf{{path, value}}
}

// try runs one reconciliation, in which the process can die. It reports whether another one is due.
func (w *removalWorld) try() bool {
	w.confirm()
	w.sync()
	w.decided, w.basis = desires{}, w.status()
	reconciler := w.reconciler()
	reconciler.Target = func(*v1alpha1.Application) (reconcile.Target, error) {
		return removalTarget{oneTarget{target{w.cluster}, w.oneObject}}, nil
	}
	reconciler.Applications = removalHome{home{w.cluster}, w}
	changed := w.changed
	w.changed = false
	after, err := reconciler.Reconcile(klog.NewContext(w.t.Context(), klog.Logger{}), w.app.DeepCopy(), w.memory, reconcile.News{Changed: changed})
	w.rethrow()
	if w.dead {
		w.start()
		return true
	}
	return err != nil || after > 0
}

// reconcile runs reconciliations until nothing changes any more.
func (w *removalWorld) reconcile() {
	w.r.Helper()
	for range 30 {
		writes, status := w.server.writes, w.reported()
		w.try()
		w.now = w.now.Add(time.Hour)
		if writes == w.server.writes && status == w.reported() {
			w.note("at rest: %s", jsonOf(w.live()))
			return
		}
	}
	w.fail("the controller does not come to rest")
}

// removalHome records the events.
type removalHome struct {
	home
	w *removalWorld
}

func (h removalHome) Announce(app *v1alpha1.Application, event *plan.Event) {
	if event != nil {
		h.w.events = append(h.w.events, event.Note)
		h.note("event: %s", event.Note)
	}
	h.home.Announce(app, event)
}

// removalTarget sends requests, before or after which the process can die.
type removalTarget struct{ oneTarget }

func (t removalTarget) Create(ctx context.Context, at kubernetes.Location, body map[string]any) (map[string]any, error) {
	return t.request(func() (map[string]any, error) { return t.oneTarget.Create(ctx, at, body) })
}

func (t removalTarget) Patch(ctx context.Context, at kubernetes.Location, ops any) (map[string]any, error) {
	return t.request(func() (map[string]any, error) { return t.oneTarget.Patch(ctx, at, ops) })
}

func (t removalTarget) request(send func() (map[string]any, error)) (map[string]any, error) {
	defer t.guard()
	if t.point("before a request"); t.dead {
		return nil, errDead
	}
	object, err := send()
	if t.point("after a request"); t.dead {
		return nil, errDead
	}
	return object, err
}
