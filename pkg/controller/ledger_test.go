package controller_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/slice"
)

// AwaitHistory waits until wanted returns true for the newest history entry.
func (f *fixture) AwaitHistory(name, what string, wanted func(v1alpha1.HistoryEntry) bool) v1alpha1.HistoryEntry {
	f.t.Helper()
	app := f.AwaitApplication(name, what, func(app *v1alpha1.Application) bool {
		return len(app.Status.History) > 0 && wanted(app.Status.History[0])
	})
	return app.Status.History[0]
}

// The history shows which client changed a field, and the outcome.
func TestTheHistoryNamesWhoChangedWhat(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: held, other: held}}]}`)
	f.AwaitReady("app")

	f.Patch("mallory", configMaps, "config", `{data: {key: changed}}`)
	entry := f.AwaitHistory("app", "corrected", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeCorrected })
	assert.Equal(t, []string{"data.key", `"held"`, `"changed"`, "mallory", "Update"},
		[]string{entry.Path, string(entry.From.Raw), string(entry.To.Raw), entry.Manager, string(entry.Operation)})
	require.NotNil(t, entry.Duration)
	f.AwaitNote("app", `data.key was changed from "held" to "changed" by mallory`)

	f.Delete(configMaps, "config")
	f.AwaitHistory("app", "restored", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeRestored && e.Duration != nil })
}

// notesOn returns the events on a held object.
func (f *fixture) notesOn(name string) (notes []string) {
	f.t.Helper()
	list, err := f.in("user", coreEvents).List(f.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	require.NoError(f.t, err)
	for _, e := range list.Items {
		notes = append(notes, fmt.Sprintf("%s x%d: %s", value(e.Object, "reason"), value(e.Object, "count"), value(e.Object, "message")))
	}
	return notes
}

// Events on an object explain why a change to it was corrected. The first is emitted at once, later
// ones at most every ten seconds. Repetitions are counted.
func TestEventsOnTheObject(t *testing.T) {
	var ahead atomic.Int64
	f := givenAlone(t, testcluster.Options{})
	begin := time.Now() // the clock runs slowly, so that ten seconds do not pass by themselves
	f.Run(controller.Options{Now: func() time.Time { return begin.Add(time.Since(begin)/4 + time.Duration(ahead.Load())) }})
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	change := func(who, to string) {
		f.Patch(who, configMaps, "config", `{data: {key: `+to+`}}`)
		f.AwaitValue(configMaps, "config", "ours", "data", "key")
	}
	are := func(what string, notes ...string) {
		t.Helper()
		f.eventually(what, func() bool { return slices.Equal(notes, f.notesOn("config")) })
	}
	first := `Corrected x1: data.key was changed from "ours" to "one" by mallory and was corrected: the Application ` + f.namespace + "/app holds it"
	last := strings.NewReplacer("one", "three", "mallory", "alice").Replace(first)

	change("mallory", "one")
	are("an event on the object", first)
	change("mallory", "two")
	// An event is final before the status is written. The next event waits from here on.
	f.AwaitHistory("app", "two", func(e v1alpha1.HistoryEntry) bool {
		return e.To != nil && string(e.To.Raw) == `"two"` && e.Outcome == v1alpha1.OutcomeCorrected
	})
	ahead.Store(int64(10 * time.Second))
	change("alice", "three")
	are("a second event, for the last correction", first, last)
	ahead.Store(int64(20 * time.Second))
	change("alice", "three")
	again := strings.Replace(last, "x1", "x2", 1)
	are("the same, counted", first, again)
	ahead.Store(int64(10 * time.Minute))
	change("alice", "three")
	are("a new one after a while", first, again, last)
}

// The missing right is reported once. It has no other effect.
func TestEventsOnObjectsWithoutRights(t *testing.T) {
	f := unprivileged(t)
	f.Create("user", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: configs}, rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]}`)
	f.Create("user", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: configs}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: configs},
  subjects: [{kind: ServiceAccount, name: `+applier+`, namespace: $NS}]}`)
	f.awaitAccess(applier, f.createConfigMaps())
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	for _, to := range []string{"one", "two", "three"} {
		f.Delete(configMaps, "config") // each new object would get an event of its own
		f.AwaitValue(configMaps, "config", "ours", "data", "key")
		f.Patch("mallory", configMaps, "config", `{data: {key: `+to+`}}`)
		f.AwaitValue(configMaps, "config", "ours", "data", "key")
	}
	f.AwaitNote("app", "EventsRefused", applier+" may not create events")
	f.Quiet(quiet)
	refused := f.Requests().Where(func(r testcluster.Request) bool {
		return r.Verb == "create" && r.Resource == "events" && strings.HasPrefix(r.URI, "/api/v1/")
	})
	assert.Len(t, refused, 1, "%s", refused)
	assert.Empty(t, f.notesOn("config"))
}

// notified collects notifications, one per line.
type notified struct {
	mu    sync.Mutex
	lines []string
}

func (n *notified) Send(kind, source, subject string, data any) {
	raw, _ := json.Marshal(data)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf("%s %s %s %s", kind, source, subject, raw))
}

func (n *notified) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

func TestNotifications(t *testing.T) {
	f := givenAlone(t, testcluster.Options{})
	n := &notified{}
	f.Run(controller.Options{Notify: n})
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}}, {apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: canary-ours}}]}`)
	f.AwaitReady("app")
	said := func(parts ...string) {
		t.Helper()
		f.eventually("a notification with "+strings.Join(parts, ", "), func() bool {
			return slices.ContainsFunc(strings.Split(n.all(), "\n"), func(line string) bool {
				return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
			})
		})
	}
	of := "/applications/" + f.namespace + "/app"
	said("dev.holdfast.ready", of, `"reason":"Ready"`)
	f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
	said("dev.holdfast.corrected", of, "ConfigMap "+f.namespace+"/config", `"manager":"mallory"`, `"from":"ours","to":"theirs"`)
	f.Patch("mallory", secrets, "login", `{stringData: {password: canary-theirs}}`)
	said("dev.holdfast.corrected", "Secret ", `"to":"***"`)
	for range plan.DefaultContestPolicy.Limit {
		f.Patch("mallory", configMaps, "config", `{data: {key: theirs}}`)
		f.eventually("an answer", func() bool {
			return value(f.Get(configMaps, "config"), "data", "key") == "ours" || strings.Contains(n.all(), "contested")
		})
	}
	said("dev.holdfast.contested", `"manager":"mallory"`)
	said("dev.holdfast.notready", `"reason":"Contested"`)
	assert.NotContains(t, n.all(), "canary")
	assert.NotContains(t, n.all(), base64.StdEncoding.EncodeToString([]byte("canary-theirs"))[:12])
}

// keys returns the data of a ConfigMap with n keys and the same value for each.
func keys(n int, value string) string {
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf("k-%02d: %s", i, value)
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// slicesWritten counts the slices that were created.
func (f *fixture) slicesWritten() int {
	return len(f.Requests().Where(func(r testcluster.Request) bool { return r.Resource == "applicationslices" && r.Verb == "create" }))
}

// olderHistory returns the part of a history that is stored in slices.
func (f *fixture) olderHistory(app *v1alpha1.Application) []v1alpha1.HistoryEntry {
	f.t.Helper()
	older, err := slice.OlderHistory(app, func(name string) ([]byte, error) {
		raw, err := json.Marshal(f.Get(applicationSlices, name))
		require.NoError(f.t, err)
		var s v1alpha1.ApplicationSlice
		return s.Data, json.Unmarshal(raw, &s)
	})
	require.NoError(f.t, err)
	return older
}

// A history that does not fit into the status is stored in slices. No entry is lost, and few slices are
// written. The slices are deleted with the Application.
func TestTheOlderHistoryIsInSlices(t *testing.T) {
	const n = 45
	var ahead atomic.Int64
	f := givenAlone(t, testcluster.Options{})
	running := f.Run(controller.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {password: canary-ours}},
  {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: `+keys(n, "ours")+`}]}`)
	f.AwaitReady("app")
	f.Patch("mallory", secrets, "login", `{stringData: {password: canary-theirs}}`)
	f.AwaitHistory("app", "about the Secret", func(e v1alpha1.HistoryEntry) bool { return e.Path == "data.password" })
	changed := func(value string) func(e v1alpha1.HistoryEntry) bool {
		return func(e v1alpha1.HistoryEntry) bool { return e.To != nil && string(e.To.Raw) == fmt.Sprintf("%q", value) }
	}
	change := func(value string) {
		f.Patch("mallory", configMaps, "config", "{data: "+keys(n, value)+"}")
		f.AwaitHistory("app", "about "+value, changed(value))
	}
	f.awaitEvents(2)
	f.Mark()
	change("one")
	f.Quiet(quiet)
	assert.Equal(t, 1, f.slicesWritten(), "%s", f.Requests())
	app := f.Application("app")
	assert.Len(t, app.Status.History, v1alpha1.MaxHistoryEntries)
	require.Len(t, app.Status.HistorySlices, 1)
	assert.Len(t, f.olderHistory(app), n+1-v1alpha1.MaxHistoryEntries, "all entries except the creation")

	change("two")
	f.Quiet(quiet)
	assert.Equal(t, 1, f.slicesWritten(), "not so soon")
	ahead.Store(int64(time.Minute))
	change("three")
	f.eventually("another slice", func() bool { return !slices.Equal(app.Status.HistorySlices, f.Application("app").Status.HistorySlices) })
	f.awaitCollected("app")
	assert.Equal(t, 2, f.slicesWritten())

	change("four")
	running.Stop()
	app = f.Application("app")
	all := slices.Concat(app.Status.History, f.olderHistory(app))
	paths := map[string]int{}
	for i, e := range all {
		paths[e.Path+" "+string(e.To.Raw)] += int(max(e.Count, 1))
		assert.False(t, i > 0 && all[i-1].Time.Before(&e.Time), "the newest first")
	}
	assert.Len(t, paths, 4*n+1, "what still waits is written at the end")
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "canary")
	assert.NotContains(t, string(raw), base64.StdEncoding.EncodeToString([]byte("canary-theirs"))[:12])

	f.Run(controller.Options{})
	f.Delete(applicationSlices, app.Status.HistorySlices[0])
	f.AwaitReady("app")
	assert.NotNil(t, f.Get(applicationSlices, app.Status.HistorySlices[0]), "a slice in the status is created again")
	f.Delete(applications, "app")
	f.AwaitGone(applications, "app")
	f.eventually("no slice to be left", func() bool { return len(f.slices()) == 0 })
}
