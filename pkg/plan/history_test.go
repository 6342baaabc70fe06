package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// told returns the history of an Application, one line for each entry.
func (w *world) told() (lines []string) {
	for _, e := range w.app.Status.History {
		line := fmt.Sprintf("%s %s/%s", e.Outcome, e.Resource.Kind, e.Resource.Name)
		if e.Path != "" {
			line += " " + e.Path
		}
		if e.From != nil {
			line += " from " + string(e.From.Raw)
		}
		if e.To != nil {
			line += " to " + string(e.To.Raw)
		}
		if e.CorrectedTo != nil {
			line += " corrected to " + string(e.CorrectedTo.Raw)
		}
		if e.Manager != "" {
			line += " by " + e.Manager + " " + string(e.Operation)
		}
		if e.Duration != nil {
			line += " after " + e.Duration.Duration.String()
		}
		if e.Count > 0 {
			line += fmt.Sprintf(" %d times since %s", e.Count, e.Since.UTC().Format(time.TimeOnly))
		}
		lines = append(lines, line)
	}
	return lines
}

// wrote sets the managedFields of the only object, given as YAML, and its writes as seen in the watch.
func (w *world) wrote(managed string, written writer.Activity) {
	w.t.Helper()
	var fields any
	require.NoError(w.t, yaml.Unmarshal([]byte(managed), &fields))
	written.ManagedFields = rawJSON(w.t, fields)
	for id := range w.live {
		w.written = map[manifest.ID]writer.Activity{id: written}
	}
}

func rawJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

const (
	byEdit = `[{manager: kubectl-edit, operation: Update, time: '2025-12-31T23:59:58Z', fieldsV1: {'f:data': {'f:mode': {}}}}]`
	byNone = `[{manager: kubectl-edit, operation: Update, time: '2025-12-31T23:59:58Z', fieldsV1: {'f:data': {'f:other': {}}}}]`
)

const ruledSong = `
manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {volume: 2}}]
fields: [{resource: {kind: Song, name: top50}, hold: [{path: spec.volume, minimum: 1, maximum: 5}]}]`

const pushedSong = `
manifest: [{apiVersion: example.com/v1, kind: Song, metadata: {name: top50}, spec: {volume: 2}}]
fields: [{resource: {kind: Song, name: top50}, hold: [{path: spec.volume, mode: push}]}]`

func TestHistory(t *testing.T) {
	const created = "Created ConfigMap/settings"
	change := func(w *world) {
		w.wrote(byEdit, writer.Activity{Events: 1, FirstSeen: w.now})
		w.set("theirs", "data", "mode")
	}
	corrected := func(duration string) string {
		return `Corrected ConfigMap/settings data.mode from "live" to "theirs" by kubectl-edit Update after ` + duration
	}
	rows := []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"a creation", func(*world) {}, []string{created}},
		{"a field that another client changes", func(w *world) {
			change(w)
			w.now = w.now.Add(8 * time.Millisecond)
			w.round()
		}, []string{corrected("8ms"), created}},
		{"the time in managedFields, without an event", func(w *world) {
			change(w)
			w.wrote(byEdit, writer.Activity{Events: 2})
			w.round()
		}, []string{corrected("2s"), created}},
		{"a removed field without a writer", func(w *world) {
			w.wrote(byNone, writer.Activity{Events: 2, ChangedEntries: []int{0}, FirstSeen: w.now})
			delete(w.only()["data"].(map[string]any), "mode")
			w.round()
		}, []string{`Corrected ConfigMap/settings data.mode from "live" after 0s`, created}},
		{"a removed field with one writer", func(w *world) {
			w.wrote(byNone, writer.Activity{Events: 1, ChangedEntries: []int{0}, FirstSeen: w.now})
			delete(w.only()["data"].(map[string]any), "mode")
			w.round()
		}, []string{`Corrected ConfigMap/settings data.mode from "live" by kubectl-edit Update after 0s`, created}},
		{"repeated drift as one entry, and then as a contest", func(w *world) {
			for range 6 {
				w.now = w.now.Add(11 * time.Second)
				change(w)
				w.round()
			}
		}, []string{
			`Contested ConfigMap/settings data.mode from "live" to "theirs" by kubectl-edit Update after 0s 2 times since 00:00:55`,
			corrected("0s") + ` 4 times since 00:00:11`, created,
		}},
		{"the duration and the first writer of drift while suspended", func(w *world) {
			look := func() { w.store(w.decide().Summarize(nil, w.now)) }
			w.edit(replace(settings, "\nmanifest:", "\nsuspend: true\nmanifest:"))
			look()
			change(w)
			look()
			w.now = w.now.Add(time.Hour)
			w.wrote(byNone, writer.Activity{Events: 1, ChangedEntries: []int{0}, FirstSeen: w.now})
			look()
			w.written = nil
			w.edit(settings)
			w.round()
		}, []string{corrected("1h0m0s"), created}},
		{"no entry for a value that a new spec changes", func(w *world) {
			w.edit(replace(settings, "live", "other"))
			w.round()
		}, []string{created}},
		{"no entry for a new spec that was written later", func(w *world) {
			w.refuse = rejectedUpdate()
			w.edit(replace(settings, "mode: live", "mode: other"))
			w.round()
			w.refuse = nil
			w.now = w.now.Add(time.Hour)
			w.round()
			assert.Equal(t, "other", get(w.only(), "data", "mode"))
		}, []string{created}},
		{"no entry for a new field of a change that was rejected before", func(w *world) {
			w.edit(replace(settings, "mode: live", "mode: live, more: new"))
			p := w.decide()
			change := p.Changes[0]
			rejected, kept := p.Reject(change, &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "no"})
			require.True(t, kept)
			change = p.Replan(change.ID, w.live[change.ID], rejected)
			w.store(p.Summarize(map[manifest.ID]plan.Outcome{change.ID: {Object: w.live[change.ID], Change: change, Rejected: []plan.RejectedLeaf{rejected}}}, w.now))
			w.now = w.now.Add(time.Hour)
			w.round()
			assert.Equal(t, "new", get(w.only(), "data", "more"))
		}, []string{created}},
		{"a tracking label that another client removes", func(w *world) {
			delete(w.only()["metadata"].(map[string]any)["labels"].(map[string]any), "holdfast.dev/application-uid")
			w.round()
		}, []string{`Corrected ConfigMap/settings metadata.labels['holdfast.dev/application-uid'] from "app-1"`, created}},
		{"drift that is corrected with a new spec", func(w *world) {
			change(w)
			w.edit(replace(settings, "info", "debug"))
			w.round()
		}, []string{corrected("0s"), created}},
		{"no entry for a field that a new spec drops", func(w *world) {
			w.edit(shorter)
			w.round()
		}, []string{created}},
		{"an object that another client deletes", func(w *world) {
			w.written = map[manifest.ID]writer.Activity{settingsID: {Events: 1, FirstSeen: w.now}}
			delete(w.live, settingsID)
			w.now = w.now.Add(time.Second)
			w.round()
		}, []string{"Restored ConfigMap/settings after 1s", created}},
		{"an object that is no longer desired", func(w *world) {
			w.edit("manifest: []")
			w.round()
		}, []string{"Deleted ConfigMap/settings", created}},
		{"the accepted form of a correction", func(w *world) {
			change(w)
			w.respond = func(object map[string]any) { set(object, "LIVE", "data", "mode") }
			w.round()
		}, []string{`Accepted ConfigMap/settings data.mode from "live" to "LIVE" by kubectl-edit Update after 0s`, created}},
		{"the value that another client wrote, if the accepted form is known", func(w *world) {
			w.respond = func(object map[string]any) { set(object, "LIVE", "data", "mode") }
			for range 6 {
				w.now = w.now.Add(11 * time.Second)
				change(w)
				w.round()
			}
		}, []string{
			`Contested ConfigMap/settings data.mode from "live" to "theirs" by kubectl-edit Update after 0s 2 times since 00:00:55`,
			corrected("0s") + ` 3 times since 00:00:22`,
			`Accepted ConfigMap/settings data.mode from "live" to "LIVE" by kubectl-edit Update after 0s`, created,
		}},
		{"a tracking label that another client replaces", func(w *world) {
			w.set("x", "metadata", "labels", "holdfast.dev/application-uid")
			w.round()
		}, []string{`Corrected ConfigMap/settings metadata.labels['holdfast.dev/application-uid'] from "app-1" to "x"`, created}},
		{"no entry for a free field", func(w *world) {
			w.wrote(byNone, writer.Activity{Events: 1, ChangedEntries: []int{0}, FirstSeen: w.now})
			w.set("free", "data", "another")
			w.round()
		}, []string{created}},
		{"the beginning and the digest of a long value", func(w *world) {
			w.set(strings.Repeat("é", 100), "data", "mode")
			w.round()
		}, []string{`Corrected ConfigMap/settings data.mode from "live" to "` + strings.Repeat("é", 32) + `… (200 bytes, sha256:f42ec48e1e4b)"`, created}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, settings)
			w.round()
			row.do(w)
			assert.Equal(t, row.want, w.told())
		})
	}

	t.Run("a value that is learned of an object that is known", func(t *testing.T) {
		w := newWorld(t, songs)
		w.round()
		w.wrote(`[{manager: kubectl, operation: Update, time: '2025-12-31T23:59:58Z', fieldsV1: {'f:spec': {'f:key3': {}}}}]`, writer.Activity{Events: 1})
		w.set("later", "spec", "key3")
		w.round()
		assert.Equal(t, []string{`Learned Song/top50 spec.key3 to "later" by kubectl Update`, "Created Song/top50"}, w.told())
	})

	t.Run("under a rule, what was written and not what was live", func(t *testing.T) {
		w := newWorld(t, ruledSong)
		w.round()
		w.set(int64(4), "spec", "volume")
		w.round()
		w.wrote(`[{manager: tuner, operation: Update, time: '2025-12-31T23:59:58Z', fieldsV1: {'f:spec': {'f:volume': {}}}}]`, writer.Activity{Events: 1})
		w.set(int64(9), "spec", "volume")
		_, result := w.round()
		assert.Equal(t, []string{"Corrected Song/top50 spec.volume to 9 corrected to 5 by tuner Update after 2s", "Created Song/top50"}, w.told())
		assert.Contains(t, result.Event.Note, "spec.volume was set to 9 by tuner, which its rule does not allow, and was corrected to 5")
		delete(w.only()["spec"].(map[string]any), "volume")
		_, missing := w.round()
		assert.Contains(t, missing.Event.Note, "spec.volume was missing, and was corrected to 2")
	})

	t.Run("no entry for a push over a value of another client", func(t *testing.T) {
		w := newWorld(t, pushedSong)
		w.round()
		w.set(int64(9), "spec", "volume")
		w.round()
		w.edit(replace(pushedSong, "volume: 2", "volume: 3"))
		_, result := w.round()
		assert.EqualValues(t, 3, get(w.only(), "spec", "volume"))
		assert.Equal(t, []string{"Created Song/top50"}, w.told())
		assert.Equal(t, "corrected Song.example.com default/top50 (spec.volume)", result.Event.Note)
	})

	t.Run("an object that is adopted, and released", func(t *testing.T) {
		w := newWorld(t, "adoption: Always"+settings)
		w.live[settingsID] = map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "default", "uid": "u-9", "resourceVersion": "1"},
			"data": map[string]any{"mode": "theirs"},
		}
		w.round()
		w.edit("manifest: []")
		w.round()
		assert.Equal(t, []string{"Released ConfigMap/settings", "Adopted ConfigMap/settings"}, w.told())
	})

	t.Run("of a Secret no value", func(t *testing.T) {
		w := newWorld(t, `manifest: [{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: canary-one}}]`)
		w.respond = func(object map[string]any) {
			object["data"] = map[string]any{"password": "Y2FuYXJ5LW9uZQ=="}
			delete(object, "stringData")
		}
		w.round()
		w.set("Y2FuYXJ5LXR3bw==", "data", "password")
		_, result := w.round()
		assert.Equal(t, []string{`Corrected Secret/login data.password from "***" to "***"`, "Created Secret/login"}, w.told())
		assert.Equal(t, "corrected Secret default/login (data.password was changed)", result.Event.Note)
		assert.NotContains(t, string(rawJSON(t, w.app.Status))+string(rawJSON(t, result)), "canary")

		delete(w.only()["data"].(map[string]any), "password")
		_, result = w.round()
		assert.Equal(t, "corrected Secret default/login (data.password was removed)", result.Event.Note)
	})
}

// TestTheHistoryIsBounded checks that the history is limited in entries and bytes, and starts with the
// newest entry.
func TestTheHistoryIsBounded(t *testing.T) {
	for _, size := range []int{1, 60, 5000} {
		t.Run(fmt.Sprintf("values of %d bytes", size), func(t *testing.T) {
			w := newWorld(t, settings)
			w.round()
			for i := range 30 {
				w.now = w.now.Add(time.Hour)
				w.set(fmt.Sprintf("%d-%s", i, strings.Repeat("<", size)), "data", "mode")
				w.round()
			}
			history := w.app.Status.History
			assert.Contains(t, string(history[0].To.Raw), `"29-`)
			assert.LessOrEqual(t, len(history), v1alpha1.MaxHistoryEntries)
			assert.Greater(t, len(history), 10)
			assert.LessOrEqual(t, len(rawJSON(t, history)), v1alpha1.MaxHistoryBytes)
		})
	}
}

// History entries that do not fit into the status are kept in the state, to be written elsewhere.
// Beyond the limit, the oldest are dropped. A Created entry is dropped without a copy.
func TestTheOlderHistoryWaits(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	change := func(to string) {
		w.now = w.now.Add(time.Hour)
		w.wrote(byEdit, writer.Activity{Events: 1, FirstSeen: w.now})
		w.set(to, "data", "mode")
		w.round()
	}
	for i := range v1alpha1.MaxHistoryEntries {
		change(fmt.Sprint(i))
	}
	assert.Empty(t, w.mem.Older, "the one that is left is Created")
	change("one more")
	require.Len(t, w.mem.Older, 1)
	assert.Equal(t, `"0"`, string(w.mem.Older[0].To.Raw))
	assert.Len(t, w.app.Status.History, v1alpha1.MaxHistoryEntries)
	for i := range v1alpha1.MaxOlderEntries {
		change("then " + fmt.Sprint(i))
	}
	assert.Len(t, w.mem.Older, v1alpha1.MaxOlderEntries)
	assert.Equal(t, `"then 979"`, string(w.mem.Older[0].To.Raw), "the newest first")
}

// The older history is limited in entries and bytes. Equal entries are counted, even if the stored JSON
// has another form.
func TestOlderHistoryIsLimited(t *testing.T) {
	at := func(minute int, to string) v1alpha1.HistoryEntry {
		return v1alpha1.HistoryEntry{
			Time: metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)), Outcome: v1alpha1.OutcomeCorrected, Path: "data.a",
			To: &runtime.RawExtension{Raw: []byte(to)},
		}
	}
	all := plan.WithOlder([]v1alpha1.HistoryEntry{at(2, `{"b": "<", "a": 1}`), at(1, `"x"`)}, []v1alpha1.HistoryEntry{at(4, `"y"`), at(3, `{"a":1,"b":"\u003c"}`)})
	require.Len(t, all, 3)
	assert.Equal(t, []int32{0, 2, 0}, []int32{all[0].Count, all[1].Count, all[2].Count})
	assert.Equal(t, []int{4, 3, 1}, []int{all[0].Time.Minute(), all[1].Time.Minute(), all[2].Time.Minute()})
	assert.Equal(t, 2, all[1].Since.Minute())

	for _, row := range []struct{ bytes, least int }{{1, v1alpha1.MaxOlderEntries}, {1000, 400}} {
		var many []v1alpha1.HistoryEntry
		for i := range 3000 {
			many = append(many, at(0, fmt.Sprintf("%q", fmt.Sprint(i, strings.Repeat("x", row.bytes)))))
		}
		kept := plan.WithOlder(many[1000:], many[:1000])
		assert.Equal(t, many[:len(kept)], kept, "the newest")
		assert.GreaterOrEqual(t, len(kept), row.least)
		assert.LessOrEqual(t, len(kept), v1alpha1.MaxOlderEntries)
		assert.LessOrEqual(t, len(rawJSON(t, kept)), v1alpha1.MaxOlderBytes)
	}
}

// The cost of one object does not grow if a thousand objects are created at once.
func TestAThousandEntriesAtOnce(t *testing.T) {
	cost := func(n int) float64 {
		var spec strings.Builder
		spec.WriteString("manifest:")
		for i := range n {
			fmt.Fprintf(&spec, "\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c-%d}, data: {a: b}}", i)
		}
		w := newWorld(t, spec.String())
		p, outcomes := w.decide(), map[manifest.ID]plan.Outcome{}
		for _, change := range p.Changes {
			outcomes[change.ID] = w.execute(change)
		}
		return testing.AllocsPerRun(1, func() { p.Summarize(outcomes, w.now) }) / float64(n)
	}
	few, many := cost(v1alpha1.MaxHistoryEntries), cost(1000)
	assert.Less(t, many, 1.2*few, "allocations for each of them")
}

// While the record of the previous schema is kept, because another client contests the removal of an
// element, a value that the next schema learns is not reported at each reconcile.
func TestAContestedListReportsLearnedValuesOnce(t *testing.T) {
	song := func(list string) string {
		return "manifest:\n- {apiVersion: example.com/v1, kind: Song, metadata: {name: a}, spec: {parts: [{name: one}]}}\n" +
			"observerSchema:\n- {apiVersion: example.com/v1, kind: Song, metadata: {name: a}, spec: {parts: " + list + "}}"
	}
	w := newWorld(t, song("[{name: observed}, observed, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 0, observer_schema_list_map_keys: [name]}]"))
	w.respond = func(o map[string]any) {
		parts := []any{map[string]any{"name": "one", "v1": "default"}, map[string]any{"name": "injected"}}
		set(o, parts, "spec", "parts")
	}
	for range 3 {
		w.round()
	}
	w.edit(song("[{name: observed, v1: observed}, {observer_schema_list_min_length: 0, observer_schema_list_max_length: 1, observer_schema_list_map_keys: [name]}]"))
	for range 12 {
		w.round()
	}
	require.NotEmpty(t, w.app.Status.Contested)
	w.quiet()
}
