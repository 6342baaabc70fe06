package plan_test

import (
	goruntime "runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const settings = `
manifest:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings}
  data: {mode: live, level: info}
`

const shorter = `
manifest:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings}
  data: {mode: live}
`

const songs = `
manifest:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: top50}
  spec: {key1: one, key2: two}
observerSchema:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: top50}
  spec: {key1: observed, key3: observed}
`

var (
	settingsID = manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "settings"}
	songID     = manifest.ID{Group: "example.com", Kind: "Song", Namespace: "default", Name: "top50"}
	rejected   = &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "no"}
)

func TestAResponseTeachesWhatTheManifestDoesNotSet(t *testing.T) {
	w := newWorld(t, songs)
	w.respond = func(o map[string]any) {
		set(o, "three", "spec", "key3")
		set(o, "four", "spec", "key4")
	}
	w.round()
	assert.Equal(t, map[string]any{"key1": "one", "key2": "two", "key3": "three"},
		w.stored(w.app.Status.LastAppliedManifest)["spec"])
	assert.Equal(t, map[string]any{"key1": "one", "key3": "three"}, w.stored(w.app.Status.LastObservedManifest)["spec"])
	w.quiet()

	w.respond = nil
	w.set("other", "spec", "key3")
	w.set("other", "spec", "key4")
	p, _ := w.round()
	assert.Equal(t, []string{"spec.key3 changed"}, paths(p))
	assert.Equal(t, "three", get(w.only(), "spec", "key3"))
	assert.Equal(t, "other", get(w.only(), "spec", "key4"))
	w.quiet()
}

func TestAWatchTeachesWhatTheResponseDidNotHave(t *testing.T) {
	w := newWorld(t, songs)
	w.round()
	w.set("later", "spec", "key3")
	p, _ := w.round()
	assert.Empty(t, paths(p))
	assert.Equal(t, "later", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key3"))
	w.quiet()
}

func TestAKnownValueIsNotOverwrittenByAResponse(t *testing.T) {
	w := newWorld(t, songs)
	w.respond = func(o map[string]any) { set(o, "rewritten", "spec", "key1") }
	w.round()
	assert.Equal(t, "one", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key1"))
	w.quiet()
}

func TestACreateWithoutLearnedValuesLearnsAgain(t *testing.T) {
	w := newWorld(t, songs)
	w.respond = func(o map[string]any) { set(o, "three", "spec", "key3") }
	w.round()
	delete(w.live, songID)

	p := w.decide()
	require.Len(t, p.Changes, 1)
	change := p.Changes[0]
	assert.Equal(t, "three", get(change.Manifest, "spec", "key3"))
	assert.Equal(t, map[string]any{"key1": "one", "key2": "two"}, change.Fallback["spec"])

	w.respond = func(o map[string]any) { set(o, "another", "spec", "key3") }
	change.Manifest = change.Fallback
	outcome := w.execute(change)
	outcome.WithoutLearned = true
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{songID: outcome}, w.now))
	assert.Equal(t, "another", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key3"))
	w.quiet()
}

func TestACreateOfTheManifestAloneHasNoFallback(t *testing.T) {
	p := newWorld(t, songs).decide()
	assert.Nil(t, p.Changes[0].Fallback)
}

func TestARemovedFieldIsRememberedUntilItIsGone(t *testing.T) {
	rows := []struct {
		name string
		fail func(w *world)
	}{
		{"the patch is refused", func(w *world) {
			w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: rejected}}
			w.round()
			w.refuse = nil
		}},
		{"the patch is not attempted", func(w *world) { w.store(w.decide().Summarize(nil, w.now)) }},
		{"the Application is suspended", func(w *world) {
			w.app.Spec.Suspend = true
			w.store(w.decide().Summarize(nil, w.now))
			w.app.Spec.Suspend = false
		}},
		{"the object turned out to have it still", func(w *world) {
			w.store(w.decide().Summarize(map[manifest.ID]plan.Outcome{
				settingsID: {Action: plan.Unchanged, Object: w.only()},
			}, w.now))
		}},
		{"the kind cannot be read for a while", func(w *world) {
			p := plan.Decide(plan.Input{
				Application: w.app, Kinds: intent.Offline(), Memory: w.mem, Now: w.now,
				Blocked: map[manifest.ID]*plan.Problem{settingsID: {Reason: v1alpha1.ReasonRetrying, Message: "down"}},
			})
			w.store(p.Summarize(nil, w.now))
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, settings)
			w.round()
			w.quiet()
			w.edit(shorter)
			row.fail(w)
			assert.Contains(t, w.only()["data"], "level")
			p, result := w.round()
			assert.Equal(t, []string{"data.level removed"}, paths(p))
			assert.False(t, result.Again)
			assert.Equal(t, map[string]any{"mode": "live"}, w.only()["data"])
			w.quiet()
		})
	}
}

func TestARemovedFieldThatIsDefaultedAgain(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.edit(shorter)
	w.respond = func(o map[string]any) { set(o, "default", "data", "level") }
	_, result := w.round()
	assert.False(t, result.Again)
	w.quiet()
}

func TestUnwrittenFieldsAreNotRemoved(t *testing.T) {
	w := newWorld(t, settings)
	w.refuse = map[plan.Action]plan.Outcome{plan.Create: {Action: plan.Create, Problem: rejected}}
	w.round()
	w.edit(shorter + "adoption: Always\n")
	w.live[settingsID] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs"},
		"data":     map[string]any{"mode": "live", "level": "theirs"},
	}
	w.round()
	assert.Equal(t, "theirs", get(w.only(), "data", "level"))
	w.quiet()
}

func TestAnAdoptedObjectLosesNothing(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.live[settingsID] = map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs"},
		"data":     map[string]any{"level": "theirs"},
	}
	w.edit(shorter + "adoption: Always\n")
	w.round()
	assert.Equal(t, map[string]any{"mode": "live", "level": "theirs"}, w.only()["data"])
	w.quiet()
}

func TestAForeignObjectIsInNoInventory(t *testing.T) {
	w := newWorld(t, settings)
	foreign := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs"},
	}
	for _, action := range []plan.Action{plan.Create, plan.Unchanged} {
		w.store(w.decide().Summarize(map[manifest.ID]plan.Outcome{
			settingsID: {Action: action, Object: foreign, Problem: &plan.Problem{Reason: v1alpha1.ReasonResourceConflict, Message: "exists"}},
		}, w.now))
		require.Len(t, w.app.Status.Resources, 1)
		assert.Empty(t, w.app.Status.Resources[0].UID)
	}
	w.live[settingsID] = foreign
	p := w.decide()
	assert.Equal(t, v1alpha1.ReasonResourceConflict, p.Changes[0].Problem.Reason)
	w.edit("manifest: []")
	assert.Empty(t, w.decide().Changes, "nothing of it is deleted")
}

func TestOurOwnObjectFromBeforeACrashIsTakenUp(t *testing.T) {
	w := newWorld(t, settings)
	p := w.decide()
	created := w.execute(p.Changes[0]) // and the controller dies
	p = w.decide()
	assert.Equal(t, plan.Unchanged, p.Changes[0].Action)
	created.Action = plan.Unchanged
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{settingsID: created}, w.now))
	assert.NotEmpty(t, w.app.Status.Resources[0].UID)
	w.quiet()
}

func TestAnObjectThatIsGoneIsDecidedAgainAtOnce(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("other", "data", "mode")
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Gone: true}}
	_, result := w.round()
	assert.True(t, result.Again)
}

func TestAResponseWithOtherDrift(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("other", "data", "mode")
	w.respond = func(o map[string]any) { set(o, "raced", "data", "level") }
	_, result := w.round()
	assert.True(t, result.Again)
	w.respond = nil
	w.round()
	w.quiet()
}

func TestARefusedPatchIsNotRepeatedAtOnce(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("other", "data", "mode")
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Object: w.only(), Problem: rejected}}
	_, result := w.round()
	assert.False(t, result.Again)
}

func TestAListThatIsTooShortIsReportedAsLongAsItIs(t *testing.T) {
	w := newWorld(t, `
manifest:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: top50}
  spec: {tags: [a]}
observerSchema:
- apiVersion: example.com/v1
  kind: Song
  metadata: {name: top50}
  spec:
    key: observed
    tags:
    - observed
    - observed
    - {observer_schema_list_min_length: 2, observer_schema_list_max_length: 0}
`)
	w.respond = func(o map[string]any) { set(o, "C", "spec", "key") }
	w.round()
	_, reason, _ := w.condition("Ready")
	assert.Equal(t, v1alpha1.ReasonListTooShort, reason)
	assert.Equal(t, "C", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key"), "learned despite the short list")
	w.quiet()
	w.set([]any{"a", "b"}, "spec", "tags")
	w.round()
	_, reason, _ = w.condition("Ready")
	assert.Equal(t, v1alpha1.ReasonReady, reason)
	w.quiet()
}

func TestDeletion(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.edit("manifest: []")

	remaining := w.only()
	set(remaining, []any{"example.com/slow"}, "metadata", "finalizers")
	p := w.decide()
	require.Equal(t, plan.Delete, p.Changes[0].Action)
	assert.Equal(t, "u-1", p.Changes[0].UID)
	set(remaining, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{settingsID: {Action: plan.Delete, Object: remaining}}, w.now))
	require.Len(t, w.app.Status.Resources, 1, "kept until it is gone")
	assert.Contains(t, w.app.Status.Resources[0].Message, "example.com/slow")
	w.quiet()

	delete(w.live, settingsID)
	w.round()
	assert.Empty(t, w.app.Status.Resources)
	w.quiet()
}

// Another client replaced the object before its deletion. The new object is not owned, and is never
// recorded as owned.
func TestReplacedObjectIsReleased(t *testing.T) {
	for name, problem := range map[string]*plan.Problem{"at once": nil, "after a problem": rejected} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, settings)
			w.round()
			w.edit("manifest: []")
			p := w.decide()
			require.Equal(t, plan.Delete, p.Changes[0].Action)
			foreign := map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "theirs"},
			}
			w.live[settingsID] = foreign

			found := p.Replan(settingsID, foreign)

			require.Equal(t, plan.Unchanged, found.Action)
			w.store(p.Summarize(map[manifest.ID]plan.Outcome{settingsID: {Change: found, Action: found.Action, Object: foreign, Problem: problem}}, w.now))
			if problem == nil {
				assert.Empty(t, w.app.Status.Resources)
			}
			w.round()
			assert.Equal(t, foreign, w.only())
			assert.Empty(t, w.app.Status.Resources)
		})
	}
}

func TestTheInventoryKeepsItsOrder(t *testing.T) {
	w := newWorld(t, `
manifest:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
`)
	w.round()
	w.edit("manifest: []")
	w.refuse = map[plan.Action]plan.Outcome{plan.Delete: {Action: plan.Delete, Problem: rejected}}
	p, _ := w.round()
	assert.Equal(t, "b", p.Changes[0].ID.Name, "the last created is deleted first")
	order := w.app.Status.Resources
	p, _ = w.round()
	assert.Equal(t, "b", p.Changes[0].ID.Name)
	assert.Equal(t, order, w.app.Status.Resources)
}

// A report may wait, for example if every Application reports at once. It does not reference its plan.
func TestAReportDoesNotKeepItsPlan(t *testing.T) {
	w := newWorld(t, `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: held}}]}`)
	w.round()
	w.set("drift", "data", "key")
	var kept []any
	freed := make(chan struct{})
	func() {
		app := w.app.DeepCopy()
		goruntime.AddCleanup(app, func(gone chan struct{}) { close(gone) }, freed)
		p := plan.Decide(plan.Input{Application: app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now})
		result := p.Summarize(map[manifest.ID]plan.Outcome{p.Changes[0].ID: w.execute(p.Changes[0])}, w.now)
		require.NotNil(t, result.Status.Resources[0].LastCorrection)
		require.NotEmpty(t, result.Status.History)
		kept = []any{result.Status, result.Memory, result.Event, result.NewHistory}
	}()
	goruntime.GC()
	select {
	case <-freed:
	case <-time.After(time.Minute):
		t.Error("the result refers to the plan, so the garbage collector keeps it")
	}
	goruntime.KeepAlive(kept)
}
