package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// AwaitHistory waits until the newest entry of a history is as wanted.
func (f *fixture) AwaitHistory(name, what string, wanted func(v1alpha1.HistoryEntry) bool) v1alpha1.HistoryEntry {
	f.t.Helper()
	app := f.AwaitApplication(name, what, func(app *v1alpha1.Application) bool {
		return len(app.Status.History) > 0 && wanted(app.Status.History[0])
	})
	return app.Status.History[0]
}

// Whoever looks finds who changed what, and what became of it.
func TestTheHistoryNamesWhoChangedWhat(t *testing.T) {
	f := given(t)
	f.Submit("app", `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: held, other: held}}]}`)
	f.AwaitReady("app")

	f.Patch("mallory", configMaps, "config", `{data: {key: changed}}`)
	entry := f.AwaitHistory("app", "corrected", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeCorrected })
	assert.Equal(t, []string{"data.key", `"held"`, `"changed"`, "mallory", "Update"},
		[]string{entry.Path, string(entry.From.Raw), string(entry.To.Raw), entry.Manager, string(entry.Operation)})
	require.NotNil(t, entry.Stood)
	f.AwaitNote("app", `data.key was changed from "held" to "changed" by mallory`)

	f.Delete(configMaps, "config")
	f.AwaitHistory("app", "restored", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeRestored && e.Stood != nil })
}

// notesOn are the events on a held object.
func (f *fixture) notesOn(name string) (notes []string) {
	f.t.Helper()
	list, err := f.in("user", coreEvents).List(f.t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	require.NoError(f.t, err)
	for _, e := range list.Items {
		notes = append(notes, fmt.Sprintf("%s x%d: %s", value(e.Object, "reason"), value(e.Object, "count"), value(e.Object, "message")))
	}
	return notes
}

// Whoever changed an object finds on it why that is gone: at once, and then every ten
// seconds at most.
func TestEventsOnTheObject(t *testing.T) {
	f := given(t)
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	change := func(who, to string) {
		f.Patch(who, configMaps, "config", `{data: {key: `+to+`}}`)
		f.AwaitValue(configMaps, "config", "ours", "data", "key")
	}
	first := `Corrected x1: data.key was changed from "ours" to "one" by mallory and was changed back: the Application ` + f.namespace + "/app holds it"
	last := strings.NewReplacer("one", "three", "mallory", "alice").Replace(first)

	change("mallory", "one")
	f.eventually("an event on the object", func() bool { return slices.Equal([]string{first}, f.notesOn("config")) })
	change("mallory", "two")
	change("alice", "three")
	f.eventually("another one", func() bool { return len(f.notesOn("config")) > 1 })
	assert.Equal(t, []string{first, last}, f.notesOn("config"), "no more than one in 10 s")
}

// That the rights are missing is told once, and nothing else is different.
func TestEventsOnObjectsWithoutRights(t *testing.T) {
	f := unprivileged(t)
	f.Create("user", `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: configs}, rules: [{apiGroups: [""], resources: [configmaps], verbs: ["*"]}]}`)
	f.Create("user", `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: configs}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: configs},
  subjects: [{kind: ServiceAccount, name: `+applier+`, namespace: $NS}]}`)
	f.awaitAccess(applier, f.createConfigMaps())
	f.Submit("app", oneConfig)
	f.AwaitReady("app")
	for _, to := range []string{"one", "two", "three"} {
		f.Delete(configMaps, "config") // each object is a new one to be told of
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
