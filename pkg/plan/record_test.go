package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

const settingsOf = `
manifest:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: settings}
  data: `

// A patch without a response may have been applied.
func TestUnansweredRequestsAreRecorded(t *testing.T) {
	w := newWorld(t, settingsOf+"{a: x, old: x}")
	w.round()
	w.edit(settingsOf + "{a: x, new: x}")
	before := w.only()
	p := w.decide()
	w.protect(p)
	w.execute(p.Changes[0])
	after := w.only()
	w.live[settingsID] = before // the watch lags
	w.store(p.Summarize(outcomesOf(plan.Outcome{Action: plan.Update, Problem: lost}), w.now))
	w.edit(settingsOf + "{a: x}")
	w.live[settingsID] = after
	w.round()
	assert.Equal(t, map[string]any{"a": "x"}, w.only()["data"])
	w.quiet()
}

// Manifest fields that were never written, because the Application is suspended, belong to another
// client.
func TestChangesWhileSuspended(t *testing.T) {
	w := newWorld(t, settingsOf+"{a: x}")
	w.round()
	w.edit("suspend: true\n" + settingsOf + "{a: x, more: x}")
	w.store(w.decide().Summarize(nil, w.now))
	w.set("theirs", "data", "more")
	w.edit(settingsOf + "{a: x}")
	w.round()
	assert.Equal(t, map[string]any{"a": "x", "more": "theirs"}, w.only()["data"])
	w.quiet()
}

// The write-ahead record of an object does not apply to a later object with the same name.
func TestNothingIsLearnedFromDeletedObject(t *testing.T) {
	w := newWorld(t, settingsOf+"{a: x, b: x}")
	w.round()
	w.edit("manifest: []")
	w.round()
	require.Empty(t, w.live)
	w.edit(settingsOf + "{a: x}\nobserverSchema:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: observed, b: observed}}")
	assert.Equal(t, map[string]any{"a": "x"}, w.decide().Changes[0].Manifest["data"])
}

var lost = &plan.Problem{Reason: "Retrying", Message: "no answer"}

func outcomesOf(o plan.Outcome) map[manifest.ID]plan.Outcome {
	return map[manifest.ID]plan.Outcome{settingsID: o}
}

// etcd rejects an Application of more than 1.5 MiB. Values that are only useful if the spec changes
// again are dropped first.
func TestTheStatusFitsThoughEverythingIsReplaced(t *testing.T) {
	for name, format := range map[string]string{"with other resources": "name: %s}, data: {key: %s}", "with other fields": "name: one}, data: {%s: %s}"} {
		t.Run(name, func(t *testing.T) {
			spec := func(key string) string {
				return fmt.Sprintf("manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {"+format+"}]", key, strings.Repeat("x", 400*1024))
			}
			w := newWorld(t, spec("first"))
			w.round()
			w.edit(spec("second"))
			w.refuse = map[plan.Action]plan.Outcome{
				plan.Update: {Action: plan.Update, Problem: rejected}, plan.Delete: {Action: plan.Delete, Problem: rejected},
			}
			for range 2 {
				p := w.decide()
				require.Nil(t, p.Invalid)
				if ahead := p.WriteAheadStatus(); ahead != nil {
					app := w.app.DeepCopy()
					app.Status = *ahead
					assert.Less(t, stored(t, app), 1536*1024)
				}
				w.round()
				assert.Less(t, stored(t, w.app), 1536*1024)
			}
			w.refuse = nil
			w.round()
			w.quiet()
		})
	}
}

// stored returns the size of an Application in bytes.
func stored(t *testing.T, app *v1alpha1.Application) int {
	t.Helper()
	raw, err := json.Marshal(app)
	require.NoError(t, err)
	return len(raw)
}

// A create without learned values and without a response may have succeeded.
func TestACreateWithoutAnAnswerLearnsAgain(t *testing.T) {
	w := newWorld(t, songs)
	w.respond = func(o map[string]any) { set(o, "three", "spec", "key3") }
	w.round()
	delete(w.live, songID)

	p := w.decide()
	change := p.Changes[0]
	change.Manifest = change.Fallback
	w.respond = func(o map[string]any) { set(o, "another", "spec", "key3") }
	w.execute(change)
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{songID: {Action: plan.Create, WithoutLearned: true, Problem: lost}}, w.now))
	p, _ = w.round()
	assert.Empty(t, paths(p))
	assert.Equal(t, "another", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key3"))
	w.quiet()
}

// Fields whose managers cannot be read before a patch are removed after its response.
func TestWhatIsRemovedAfterwards(t *testing.T) {
	const deployment = "manifest:\n- {apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {key1: %s}}"
	w := newWorld(t, fmt.Sprintf(deployment, "one, part: {key2: two}"))
	w.respond = func(o map[string]any) { set(o, "default", "spec", "part", "key3") }
	w.round()
	w.respond = nil
	w.edit(fmt.Sprintf(deployment, "other"))
	p := w.decide()
	require.True(t, p.Changes[0].ReadFirst)
	w.respond = func(o map[string]any) { // the response lists no other field manager
		fields := map[string]any{"f:spec": map[string]any{"f:key1": map[string]any{}, "f:part": map[string]any{"f:key3": map[string]any{}}}}
		set(o, []any{map[string]any{
			"manager": v1alpha1.FieldManagerOf("default", "shop"), "operation": "Update", "apiVersion": "example.com/v1", "fieldsType": "FieldsV1", "fieldsV1": fields,
		}}, "metadata", "managedFields")
	}
	w.round()
	w.respond = nil
	w.rest()
	assert.Equal(t, map[string]any{"key1": "other"}, w.only()["spec"])
}

// An object that cannot have been created leaves the inventory.
func TestFailedCreatesAreForgotten(t *testing.T) {
	unsupported := &plan.Problem{Reason: v1alpha1.ReasonKindUnsupported, Message: "no"}
	blocked := func(w *world, problem *plan.Problem) *plan.Plan {
		return plan.Decide(plan.Input{
			Application: w.app, Kinds: w.kinds, Memory: w.mem, Now: w.now, Blocked: map[manifest.ID]*plan.Problem{songID: problem},
		})
	}
	w := newWorld(t, songs)
	w.store(blocked(w, unsupported).Summarize(nil, w.now))
	w.edit("manifest: []")
	w.store(blocked(w, unsupported).Summarize(nil, w.now))
	assert.Empty(t, w.app.Status.Resources)

	// It remains if a transient error hides the object: the object may exist.
	w = newWorld(t, songs)
	w.store(blocked(w, unsupported).Summarize(nil, w.now))
	w.edit("manifest: []")
	w.store(blocked(w, lost).Summarize(nil, w.now))
	assert.Len(t, w.app.Status.Resources, 1)

	// It remains if a create had no response.
	w = newWorld(t, songs)
	w.store(blocked(w, lost).Summarize(nil, w.now))
	w.edit("manifest: []")
	for range 2 {
		w.store(blocked(w, unsupported).Summarize(nil, w.now))
		assert.Len(t, w.app.Status.Resources, 1)
	}
}

// An object that is not in a watch is read again.
func TestTheEndOfAnObjectWithoutItsLabelIsAskedFor(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	set(w.only(), map[string]any{}, "metadata", "labels")
	w.edit("manifest: []")
	p := w.decide()
	require.Equal(t, plan.Delete, p.Changes[0].Action)
	set(w.only(), "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	result := w.store(p.Summarize(outcomesOf(plan.Outcome{Action: plan.Delete, Object: w.only()}), w.now))
	assert.Positive(t, result.RetryAfter)
	_, result = w.round()
	assert.Positive(t, result.RetryAfter)
}

// A write fails if another client has adopted the object since the last watch event.
func TestARequestIsForAnObjectThatIsStillOurs(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("other", "data", "mode")
	mark := delta.Op{Op: "test", Path: "/metadata/labels/holdfast.dev~1application-uid", Value: "app-1"}
	assert.Contains(t, w.decide().Changes[0].Guards, mark)
	set(w.only(), "7", "metadata", "resourceVersion")
	w.edit("manifest: []")
	change := w.decide().Changes[0]
	assert.Equal(t, plan.Delete, change.Action)
	assert.Equal(t, "7", change.ResourceVersion)
}

// A manifest value that was never written is not the last-applied value.
func TestAValueThatWasNeverWritten(t *testing.T) {
	refused := plan.Outcome{Action: plan.Update, Problem: rejected}
	for name, attempt := range map[string]func(w *world){
		"refused": func(w *world) {
			w.refuse = map[plan.Action]plan.Outcome{plan.Update: refused}
			w.round()
			w.refuse = nil
		},
		"refused together with another change": func(w *world) {
			w.set("drifted", "spec", "key1")
			w.refused(w.decide(), "spec.key3", rejected)
			require.Equal(t, "one", get(w.only(), "spec", "key1"))
		},
		"suspended": func(w *world) { w.store(w.decide().Summarize(nil, w.now)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, songs)
			w.respond = func(o map[string]any) { set(o, "three", "spec", "key3") }
			w.round()
			w.respond = nil
			w.edit(strings.Replace(songs, "key2: two", "key2: two, key3: bad", 1))
			attempt(w)
			require.Equal(t, "three", get(w.only(), "spec", "key3"))
			w.mem.Rejections = nil
			w.edit(songs)
			p, _ := w.round()
			assert.Empty(t, paths(p))
			assert.Equal(t, "three", get(w.stored(w.app.Status.LastAppliedManifest), "spec", "key3"))
			w.quiet()
		})
	}
}
