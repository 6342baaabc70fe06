package plan_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// named returns ConfigMaps with a prefix and a number from first on, in the form of spec.manifest.
func named(prefix string, first, after int) (manifests []runtime.RawExtension) {
	for i := first; i < after; i++ {
		manifests = append(manifests, raws(map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": prefix + strconv.Itoa(i)}, "data": map[string]any{"a": "b"},
		})...)
	}
	return manifests
}

// givenObjects returns a world that holds n ConfigMaps, whose user confirms nothing.
func givenObjects(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t, "manifest: []")
	w.unconfirmed = true
	w.apply(named("a", 0, n))
	w.round()
	w.round()
	require.Len(t, w.live, n)
	return w
}

// apply replaces spec.manifest.
func (w *world) apply(manifests []runtime.RawExtension) {
	w.app.Spec.Manifest = manifests
	w.app.Generation++
}

// pass advances the clock.
func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

// with returns the number of live objects whose name starts with a prefix.
func (w *world) with(prefix string) (n int) {
	for id := range w.live {
		if strings.HasPrefix(id.Name, prefix) {
			n++
		}
	}
	return n
}

// begin executes the deletions of some objects: those with a finalizer remain. It returns the outcomes.
func (w *world) begin(p *plan.Plan, finalizer bool, names ...string) map[manifest.ID]plan.Outcome {
	outcomes := map[manifest.ID]plan.Outcome{}
	for _, c := range p.Changes {
		if !slices.Contains(names, c.ID.Name) {
			continue
		}
		require.Equal(w.t, plan.Delete, c.Action, "%s", c.ID)
		if !finalizer {
			outcomes[c.ID] = w.execute(c)
			continue
		}
		set(w.live[c.ID], "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		set(w.live[c.ID], []any{"example.com/wait"}, "metadata", "finalizers")
		outcomes[c.ID] = plan.Outcome{Action: plan.Delete, Object: observer.CopyMap(w.live[c.ID])}
	}
	return outcomes
}

func TestDeletionsBeyondTheMaximumWait(t *testing.T) {
	w := givenObjects(t, 12)
	w.apply(slices.Concat(named("a", 0, 5), named("new", 0, 20)))
	p, result := w.round()
	assert.Equal(t, 12, w.with("a"), "none is deleted")
	assert.Equal(t, 20, w.with("new"), "the others are created")
	assert.Equal(t, "25/25", w.app.Status.Summary)
	var kept []string
	for _, r := range w.app.Status.Resources {
		if r.Reason == v1alpha1.ReasonDeletionUnconfirmed {
			kept = append(kept, r.Name)
		}
	}
	assert.Equal(t, []string{"a5", "a6", "a7", "a8", "a9", "a10", "a11"}, kept)
	digest := unconfirmedDigest(p)
	_, reason, message := w.condition(v1alpha1.ConditionStalled)
	assert.Equal(t, v1alpha1.ReasonDeletionUnconfirmed, reason)
	assert.Contains(t, message, "The change would delete 7 objects, and spec.maxDeletions allows 6 of 12. If this is intended, run: holdfast reconcile shop -n default --confirm "+digest)
	require.NotNil(t, result.Event)
	assert.Equal(t, v1alpha1.ReasonDeletionUnconfirmed, result.Event.Reason)

	w.quiet()
	for range 3 { // neither the time nor the new objects let the deletions pass
		w.pass(deletionWindow)
		w.quiet()
	}
	for id, live := range w.live {
		if strings.HasPrefix(id.Name, "a") {
			set(live, "drift", "data", "a")
		}
	}
	assert.Equal(t, digest, unconfirmedDigest(w.decide()), "drift does not change the digest")

	w.confirm(digest)
	w.round()
	assert.Equal(t, 5, w.with("a"))
	assert.Nil(t, w.app.Status.Deletions)
	w.quiet()
	status, _, _ := w.condition(v1alpha1.ConditionReady)
	assert.Equal(t, "True", status)

	w.apply(slices.Concat(named("new", 0, 20), named("a", 12, 13)))
	w.round()
	assert.Equal(t, 1, w.with("a"), "confirmed deletions do not count")
}

// deletionWindow is the time in which several changes count as one.
const deletionWindow = 10 * time.Minute

func TestDeletionsOfSeveralChanges(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		// left is the number of objects after the second change.
		left int
	}{
		"within ten minutes": {deletionWindow - time.Second, 7},
		"later":              {deletionWindow, 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := givenObjects(t, 10)
			w.apply(named("a", 0, 7))
			w.round()
			require.Len(t, w.live, 7)
			w.pass(c.pause)
			w.quiet()
			w.apply(named("a", 0, 4))
			w.round()
			assert.Len(t, w.live, c.left)
			w.pass(time.Hour)
			w.quiet()
			assert.Len(t, w.live, c.left)
			w.apply(named("a", 0, 7))
			w.round()
			w.apply(named("a", 0, 2))
			w.round()
			assert.Len(t, w.live, 2, "the count begins again when no object waits")
		})
	}
}

func TestMaxDeletions(t *testing.T) {
	number, percent := intstr.FromInt32, intstr.FromString
	for _, c := range []struct {
		limit       *intstr.IntOrString
		of, allowed int
	}{
		{nil, 3, 5}, {nil, 10, 5}, {nil, 13, 6},
		{new(number(0)), 10, 0}, {new(number(3)), 10, 3},
		{new(percent("40%")), 10, 4}, {new(percent("39%")), 10, 3}, {new(percent("0%")), 10, 0},
		{new(percent("100%")), 10, math.MaxInt}, {new(percent("many")), 10, 0},
	} {
		for _, dropped := range []int{c.allowed, c.allowed + 1} {
			if dropped < 1 || dropped >= c.of {
				continue
			}
			w := givenObjects(t, c.of)
			w.app.Spec.MaxDeletions = c.limit
			w.apply(named("a", dropped, c.of))
			w.round()
			want := c.of
			if dropped <= c.allowed {
				want -= dropped
			}
			assert.Len(t, w.live, want, "%v of %d, %d dropped", c.limit, c.of, dropped)
		}
	}
}

func TestARaisedMaximumLetsDeletionsPass(t *testing.T) {
	w := givenObjects(t, 20)
	w.apply(named("a", 0, 5))
	w.round()
	require.Len(t, w.live, 20)
	w.app.Spec.MaxDeletions = new(intstr.FromString("80%"))
	w.app.Generation++
	w.round()
	assert.Len(t, w.live, 5)
	w.quiet()
}

func TestAnEmptyManifestNeedsAConfirmation(t *testing.T) {
	for _, limit := range []*intstr.IntOrString{nil, new(intstr.FromInt32(100)), new(intstr.FromString("100%"))} {
		w := givenObjects(t, 2)
		w.app.Spec.MaxDeletions = limit
		w.apply(nil)
		p, _ := w.round()
		assert.Len(t, w.live, 2)
		_, _, message := w.condition(v1alpha1.ConditionHeld)
		assert.Contains(t, message, "spec.manifest is empty, which would delete 2 objects. If this is intended, run")
		w.pass(time.Hour)
		w.quiet()
		w.confirm(unconfirmedDigest(p))
		w.round()
		assert.Empty(t, w.live)
		w.quiet()
	}
}

// TestConfirmedDeletionsAreFinished checks that all confirmed deletions are made, although they take several
// rounds, and the set of objects that are left has another digest.
func TestConfirmedDeletionsAreFinished(t *testing.T) {
	for _, dies := range []bool{false, true} {
		for _, finalizer := range []bool{false, true} {
			t.Run(fmt.Sprintf("dies: %v, with a finalizer: %v", dies, finalizer), func(t *testing.T) {
				w := givenObjects(t, 12)
				w.apply(named("a", 0, 2))
				p, _ := w.round()
				w.confirm(unconfirmedDigest(p))
				for _, next := range []string{"a2", "a5", "a9"} {
					p = w.decide()
					outcomes := w.begin(p, finalizer, next)
					require.Len(t, outcomes, 1, next)
					if dies {
						w.mem = &plan.State{}
						continue
					}
					w.store(p.Summarize(outcomes, w.now))
					assert.NotEmpty(t, w.app.Status.Deletions.Confirmed)
					w.pass(time.Hour)
				}
				w.round()
				for id := range w.live {
					if get(w.live[id], "metadata", "finalizers") != nil {
						delete(w.live, id)
					}
				}
				w.round()
				assert.Len(t, w.live, 2)
				assert.Nil(t, w.app.Status.Deletions)
				w.quiet()
			})
		}
	}
}

// TestAConfirmationIsForOneSet checks that a confirmation has no effect on another set of objects, also while
// its deletions are made, nor on the same set later.
func TestAConfirmationIsForOneSet(t *testing.T) {
	begin := func(t *testing.T) *world {
		t.Helper()
		w := givenObjects(t, 12)
		w.apply(named("a", 0, 3))
		p, _ := w.round()
		w.confirm(unconfirmedDigest(p))
		p = w.decide()
		w.store(p.Summarize(w.begin(p, false, "a11", "a10"), w.now))
		require.Len(t, w.live, 10)
		return w
	}
	t.Run("one more object", func(t *testing.T) {
		w := begin(t)
		w.apply(named("a", 0, 2))
		p, _ := w.round()
		assert.Len(t, w.live, 10)
		w.confirm(unconfirmedDigest(p))
		w.round()
		assert.Len(t, w.live, 2)
	})
	t.Run("they were desired again", func(t *testing.T) {
		w := begin(t)
		w.apply(named("a", 0, 10))
		w.round()
		w.quiet()
		w.apply(named("a", 0, 3))
		w.round()
		assert.Len(t, w.live, 10)
	})
	t.Run("objects of the same names", func(t *testing.T) {
		w := begin(t)
		w.round()
		w.apply(named("a", 0, 12))
		w.round()
		w.round()
		require.Len(t, w.live, 12)
		w.apply(named("a", 0, 3))
		w.round()
		assert.Len(t, w.live, 12)
	})
}

// TestAConfirmationCanComeFirst checks that Git can have the confirmation in the same commit as the change: the
// digest is the same before the change is submitted.
func TestAConfirmationCanComeFirst(t *testing.T) {
	w := givenObjects(t, 12)
	before := w.app.DeepCopy()
	w.apply(named("a", 0, 1))
	digest := unconfirmedDigest(w.decide())
	w.app = before
	w.apply(named("a", 0, 1))
	w.confirm(digest)
	w.round()
	assert.Len(t, w.live, 1)
	w.quiet()
}

// TestLostDeletionsCount checks that deletions count that no status has, because the controller stopped or
// another client has changed the Application.
func TestLostDeletionsCount(t *testing.T) {
	for _, finalizer := range []bool{false, true} {
		w := givenObjects(t, 10)
		w.apply(named("a", 0, 6))
		p := w.decide()
		w.begin(p, finalizer, "a6", "a7", "a8", "a9")
		w.mem = &plan.State{}
		w.apply(named("a", 0, 3))
		w.round()
		assert.Equal(t, int32(4), w.app.Status.Deletions.Deleted)
		_, _, message := w.condition(v1alpha1.ConditionHeld)
		assert.Contains(t, message, "The change would delete 3 objects, and spec.maxDeletions allows 5 of 10 in ten minutes (already deleted: 4)")
		for _, name := range []string{"a3", "a4", "a5"} {
			assert.Contains(t, w.live, manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: name})
		}
		w.quiet()
	}
}

func TestObjectsThatOthersDeleteDoNotWait(t *testing.T) {
	w := givenObjects(t, 12)
	for _, i := range []int{4, 5, 6, 7, 8} { // a finalizer keeps them
		set(w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a" + strconv.Itoa(i)}], "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	}
	w.round()
	w.apply(slices.Concat(named("a", 0, 2), named("a", 10, 12)))
	w.round()
	assert.Equal(t, 9, w.with("a"), "three others are deleted")
}

func TestNothingIsDeletedWithoutWriting(t *testing.T) {
	for name, stop := range map[string]func(spec *v1alpha1.ApplicationSpec, stops bool){
		"suspended": func(spec *v1alpha1.ApplicationSpec, stops bool) { spec.Suspend = stops },
		"observe-only": func(spec *v1alpha1.ApplicationSpec, stops bool) {
			spec.Mode = map[bool]v1alpha1.Mode{true: v1alpha1.ModeObserve, false: v1alpha1.ModeHold}[stops]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := givenObjects(t, 10)
			stop(&w.app.Spec, true)
			for left := 8; left > 0; left -= 2 { // each change is below the maximum
				w.apply(named("a", 0, left))
				w.round()
				w.pass(time.Hour)
				w.round()
			}
			require.Len(t, w.live, 10)
			stop(&w.app.Spec, false)
			w.app.Generation++
			p, _ := w.round()
			assert.Len(t, w.live, 10, "all of them count when it is written again")
			w.confirm(unconfirmedDigest(p))
			w.round()
			assert.Len(t, w.live, 2)
		})
	}
}

func TestTheDeletionOfAnApplicationHasNoMaximum(t *testing.T) {
	w := givenObjects(t, 12)
	w.apply(nil)
	w.round()
	p := plan.DecideDeletion(plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now})
	for _, c := range p.Changes {
		assert.Equal(t, plan.Delete, c.Action, "%s", c.ID)
	}
	assert.Len(t, p.Changes, 12)
}

func TestAnObjectOfAnEarlierStageIsDeletedLater(t *testing.T) {
	w := givenObjects(t, 1)
	p := plan.DecideDeletion(plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now})
	r := p.Summarize(nil, w.now) // its stage was not reached
	assert.Equal(t, "ConfigMap default/a0 will be deleted when the objects of later stages are deleted", r.Status.Resources[0].Message)
}

// TestBlockedDeletionsCount checks that the set of objects, and its digest, is the same while some of them cannot
// be processed.
func TestBlockedDeletionsCount(t *testing.T) {
	w := givenObjects(t, 12)
	w.apply(named("a", 0, 4))
	digest := unconfirmedDigest(w.decide())
	w.blocked = map[manifest.ID]*plan.Problem{}
	for i := range 8 {
		id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a" + strconv.Itoa(i+4)}
		w.blocked[id] = &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "may not watch"}
	}
	w.app.Spec.Manifest = append(w.app.Spec.Manifest, named("new", 0, 20)...)
	p, _ := w.round()
	assert.Equal(t, digest, unconfirmedDigest(p))
	w.pass(time.Hour)
	w.quiet()
	w.blocked = nil
	w.round()
	assert.Equal(t, 12, w.with("a"))
}

func TestAHookThatDropsObjectsNeedsAConfirmation(t *testing.T) {
	w := givenObjects(t, 12)
	w.hooks = hooks.New()
	w.hooks.ApplicationMangling.Listen("test", func(event *hooks.Mangling) error {
		event.Objects = event.Objects[:1]
		return nil
	})
	w.round()
	assert.Len(t, w.live, 12)
}

func TestRenamedObjectsNeedAConfirmation(t *testing.T) {
	w := givenObjects(t, 12)
	w.apply(named("b", 0, 12))
	p, _ := w.round()
	assert.Equal(t, 12, w.with("a"))
	assert.Equal(t, 12, w.with("b"))
	w.pass(time.Hour)
	w.quiet()
	w.confirm(unconfirmedDigest(p))
	w.round()
	assert.Zero(t, w.with("a"))
	w.quiet()
}

// givenShared returns a world with 8 shared objects that are held, and a function that returns how many have the held value.
func givenShared(t *testing.T) (w *world, values func() int) {
	t.Helper()
	w = newWorld(t, "manifest: []")
	w.unconfirmed = true
	for i := range 8 {
		w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a" + strconv.Itoa(i)}] = foreignObject(i, "theirs")
	}
	w.app.Spec.Ownership = v1alpha1.OwnershipShare
	w.apply(named("a", 0, 8))
	w.round()
	w.round()
	values = func() (held int) {
		for _, live := range w.live {
			if get(live, "data", "a") == "b" {
				held++
			}
		}
		return held
	}
	require.Equal(t, 8, values())
	return w, values
}

// foreignObject returns an object of another client.
func foreignObject(i int, uid string) map[string]any {
	name := "a" + strconv.Itoa(i)
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "theirs"},
		"metadata": map[string]any{"name": name, "namespace": "default", "uid": uid + "-" + name, "resourceVersion": "1"},
	}
}

func TestRestorationsWaitForAConfirmation(t *testing.T) {
	w, values := givenShared(t)
	w.apply(named("a", 0, 2))
	p, _ := w.round()
	assert.Equal(t, 8, values())
	_, _, message := w.condition(v1alpha1.ConditionHeld)
	assert.Contains(t, message, "The change would delete or restore 6 objects, and spec.maxDeletions allows 5 of 8")
	w.pass(time.Hour)
	w.quiet()
	digest := unconfirmedDigest(p)
	set(w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a7"}], "drift", "data", "a")
	assert.Equal(t, digest, unconfirmedDigest(w.decide()), "drift does not change the digest")
	w.confirm(digest)
	w.round()
	assert.Equal(t, 2, values())
	assert.Len(t, w.live, 8)
	w.round()
	w.quiet()
}

// Another client deletes shared objects, and creates them again. Nothing is restored.
func TestReplacedObjectsAreNotRestored(t *testing.T) {
	w, values := givenShared(t)
	for i := 2; i < 7; i++ {
		w.live[manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "a" + strconv.Itoa(i)}] = foreignObject(i, "new")
	}
	w.apply(named("a", 0, 2))
	w.round()
	assert.Equal(t, 2, values(), "the last one is restored")
	require.NotNil(t, w.app.Status.Deletions)
	assert.EqualValues(t, 1, w.app.Status.Deletions.Deleted)

	w.app.Spec.MaxDeletions = new(intstr.FromInt32(1))
	w.apply(named("a", 0, 1))
	w.round()
	_, _, message := w.condition(v1alpha1.ConditionHeld)
	assert.Contains(t, message, "would delete or restore 1 object, and spec.maxDeletions allows 1 of 8 in ten minutes (already deleted or restored: 1)")
}

// accident replaces the objects of an Application, as an accident does, and returns what it did.
func accident(w *world, random *rand.Rand, objects []runtime.RawExtension) string {
	var some []runtime.RawExtension
	for _, item := range objects {
		if random.IntN(3) > 0 {
			some = append(some, item)
		}
	}
	n, kind := len(objects), random.IntN(4)
	manifests := [][]runtime.RawExtension{nil, named("branch", 0, random.IntN(2*n+1)), objects[:random.IntN(n+1)], some}[kind]
	if w.source == nil {
		w.apply(manifests)
	} else {
		w.source = &intent.Source{Digest: strconv.Itoa(random.Int()), Objects: decoded(w.t, manifests)}
	}
	return []string{"nothing", "another branch", "a truncated file", "a part"}[kind]
}

func decoded(t *testing.T, manifests []runtime.RawExtension) []map[string]any {
	t.Helper()
	objects := make([]map[string]any, len(manifests))
	for i, item := range manifests {
		content, err := manifest.DecodeJSON(item.Raw)
		require.NoError(t, err)
		objects[i] = content
	}
	return objects
}

// TestNoAccidentExceedsTheMaximum makes random accidents: changes of the manifest or of a template, several of
// them within ten minutes, with a controller that stops at any time. Without a confirmation, no more objects are
// deleted than spec.maxDeletions allows.
func TestNoAccidentExceedsTheMaximum(t *testing.T) {
	limits := []struct {
		limit *intstr.IntOrString
		of    func(n int) int
	}{
		{nil, func(n int) int { return max(5, n/2) }},
		{new(intstr.FromInt32(0)), func(int) int { return 0 }},
		{new(intstr.FromInt32(3)), func(int) int { return 3 }},
		{new(intstr.FromString("20%")), func(n int) int { return n / 5 }},
		{new(intstr.FromString("99%")), func(n int) int { return n * 99 / 100 }},
	}
	stopped, passed := 0, 0
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 0))
		n := 1 + random.IntN(16)
		w := newWorld(t, "manifest: []")
		w.unconfirmed = true
		if random.IntN(3) == 0 {
			w.app.Spec.Tosca = &v1alpha1.ToscaSource{}
			w.source = &intent.Source{Digest: "1", Objects: decoded(t, named("a", 0, n))}
		} else {
			w.apply(named("a", 0, n))
		}
		limit := limits[random.IntN(len(limits))]
		w.app.Spec.MaxDeletions = limit.limit
		w.round()
		w.round()
		given := map[types.UID]bool{}
		for _, r := range w.app.Status.Resources {
			given[r.UID] = true
		}
		require.Len(t, given, n)
		var told []string
		objects := named("a", 0, n)
		for range 1 + random.IntN(3) {
			told = append(told, accident(w, random, objects))
			for range random.IntN(4) {
				w.pass(time.Duration(random.IntN(60)) * time.Second)
				if random.IntN(3) > 0 {
					w.round()
					continue
				}
				w.stopAnywhere(random)
				told = append(told, "a stop")
				objects = slices.DeleteFunc(objects, func(item runtime.RawExtension) bool { // an object that it creates again is no deletion
					return !slices.ContainsFunc(w.app.Spec.Manifest, func(now runtime.RawExtension) bool { return bytes.Equal(now.Raw, item.Raw) })
				})
			}
		}
		w.round()
		w.pass(time.Hour)
		w.round()
		lost := n
		for _, live := range w.live {
			if given[types.UID(get(live, "metadata", "uid").(string))] {
				lost--
			}
		}
		require.LessOrEqual(t, lost, limit.of(n), "seed %d: %d objects, %v", seed, n, told)
		if w.app.Spec.Tosca == nil && told[0] == "nothing" && len(told) == 1 {
			require.Zero(t, lost, "seed %d", seed)
		}
		if unconfirmedDigest(w.decide()) != "" {
			stopped++
		}
		if lost > 0 {
			passed++
		}
		w.quiet()
	}
	assert.Greater(t, stopped, 100)
	assert.Greater(t, passed, 100)
}

// stopAnywhere decides and executes some of the changes. The controller stops before it writes the status.
func (w *world) stopAnywhere(random *rand.Rand) {
	w.t.Helper()
	p := w.decide()
	w.protect(p)
	for _, c := range p.Changes {
		if c.Writes() && random.IntN(2) == 0 {
			w.execute(c)
		}
	}
	w.mem = &plan.State{}
}

func TestAnnouncedFateOfClusterScopedKinds(t *testing.T) {
	w := newWorld(t, "{}")
	issuer := func(name string, policy v1alpha1.DeletionPolicy) runtime.RawExtension {
		return runtime.RawExtension{Raw: []byte(`{"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": "` + name +
			`", "annotations": {"holdfast.dev/deletion-policy": "` + string(policy) + `"}}}`)}
	}
	w.app.Status.LastAppliedManifest = []runtime.RawExtension{issuer("adopted", v1alpha1.DeletionDelete), issuer("created", v1alpha1.DeletionOrphan)}
	for name, origin := range map[string]v1alpha1.ObjectOrigin{"adopted": v1alpha1.OriginAdopted, "created": v1alpha1.OriginCreated} {
		ref := v1alpha1.ResourceReference{APIVersion: "cert-manager.io/v1", Kind: "ClusterIssuer", Name: name}
		w.app.Status.Resources = append(w.app.Status.Resources, v1alpha1.ResourceStatus{ResourceReference: ref, UID: "u", Origin: origin})
	}
	created := manifest.ID{Group: "cert-manager.io", Kind: "ClusterIssuer", Name: "created"}
	assert.Equal(t, map[manifest.ID]bool{created: true}, plan.RetainedObjects(w.app))
}
