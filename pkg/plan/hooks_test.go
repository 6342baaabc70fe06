package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/observertest"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

const (
	bareWork = `
manifest:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {
    initContainers: [{name: init, image: "init:1"}],
    containers: [{name: web, image: "web:1", env: [{name: OWN, value: own}]}], volumes: [{name: own, emptyDir: {}}]}}}}
`
	identitySchema = `
observerSchema: [{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}]
`
	userSchema = `
observerSchema:
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [
    {name: observed, image: observed, env: [{name: observed, value: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 1}]},
    {observer_schema_list_min_length: 1, observer_schema_list_max_length: 0}]}}}}
`
	bothHooks = "hooks: {complete: {}, shutdown: {service: web, port: 80}}\n"
)

// A hook that is removed from the spec leaves nothing behind, under any schema. A leftover variable
// from the deleted Secret would keep Pods from starting.
func TestWhatAHookHadAddedGoesWithIt(t *testing.T) {
	deployment := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	secret := manifest.ID{Kind: "Secret", Namespace: "default", Name: "shop-hooks"}
	for name, schema := range map[string]string{"the default schema": "", "a user's schema": userSchema, "a schema that only identifies": identitySchema} {
		t.Run("under "+name, func(t *testing.T) {
			w := newWorld(t, bareWork+schema)
			w.rounds(1)
			bare := observer.CopyMap(w.live[deployment])

			w.edit(bothHooks + bareWork + schema)
			w.rounds(2)
			w.quiet()
			require.NotNil(t, w.live[secret])
			with := podSpecOf(w.live[deployment])
			assert.Equal(t, []string{"OWN", "HOLDFAST_COMPLETE_URL", "HOLDFAST_COMPLETE_TOKEN", "HOLDFAST_SHUTDOWN_URL", "HOLDFAST_SHUTDOWN_TOKEN"},
				namesIn(with["containers"].([]any)[0].(map[string]any)["env"]))

			// A sidecar that another client has injected remains unchanged.
			with["containers"] = append(with["containers"].([]any), map[string]any{"name": "sidecar", "image": "sidecar:1"})
			w.edit("hooks: {complete: {tokenVariable: DONE}}\n" + bareWork + schema)
			w.rounds(3)
			w.quiet()
			assert.ElementsMatch(t, []string{"OWN", "HOLDFAST_COMPLETE_URL", "DONE"},
				namesIn(podSpecOf(w.live[deployment])["containers"].([]any)[0].(map[string]any)["env"]))

			w.edit(bareWork + schema)
			w.rounds(3)
			w.quiet()
			assert.Nil(t, w.live[secret])
			spec := podSpecOf(w.live[deployment])
			if list := spec["containers"].([]any); len(list) > 1 {
				spec["containers"] = list[:1]
			}
			assert.Equal(t, observertest.WithoutEmptyLists(podSpecOf(bare)), observertest.WithoutEmptyLists(spec))
		})
	}
}

// The Secret remains until the workload no longer uses it.
func TestSecretRemainsWhileWorkloadNeedsIt(t *testing.T) {
	w := newWorld(t, bothHooks+bareWork+identitySchema)
	w.rounds(2)
	w.edit(bareWork + identitySchema)
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying, Message: "refused"}}}
	p := w.decide()
	require.Equal(t, plan.Update, p.Changes[0].Action)
	require.Equal(t, plan.Delete, p.Changes[1].Action, "the last of all, and only if all else succeeds")
	w.store(p.Summarize(map[manifest.ID]plan.Outcome{p.Changes[0].ID: w.refuse[plan.Update]}, w.now))
	w.refuse = nil
	w.rounds(2)
	w.quiet()
	assert.Empty(t, namesIn(podSpecOf(w.live[p.Changes[0].ID])["volumes"].([]any)[1:]))
}

// A Secret of another client is not used, under any adoption policy: its creator knows the tokens.
func TestTokensOfAnotherClientAreNotTrusted(t *testing.T) {
	w := newWorld(t, "adoption: Always\n"+bothHooks+bareWork)
	w.live[manifest.ID{Kind: "Secret", Namespace: "default", Name: "shop-hooks"}] = map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "shop-hooks", "namespace": "default", "uid": "theirs"},
		"data": map[string]any{"complete-token": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="},
	}
	p, result := w.round()
	assert.Equal(t, v1alpha1.ReasonResourceConflict, p.Changes[0].Problem.Reason)
	assert.Contains(t, p.Changes[0].Problem.Message, "rename the Application")
	assert.Nil(t, result.Status.Hooks)
}

// rounds runs n rounds.
func (w *world) rounds(n int) {
	w.t.Helper()
	for range n {
		w.round()
	}
}

func podSpecOf(workload map[string]any) map[string]any {
	return workload["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

func namesIn(list any) (names []string) {
	elements, _ := list.([]any)
	for _, e := range elements {
		names = append(names, e.(map[string]any)["name"].(string))
	}
	return names
}

// A typing error must not show only after the Application is deleted.
func TestAShutdownNeedsAServiceOfTheApplication(t *testing.T) {
	const hook = "hooks: {shutdown: {service: web, port: 80}}\n"
	const warning = "spec.hooks.shutdown.service: Service default/web is not among the manifests, so the shutdown will fail: did you mean wep?"
	w := newWorld(t, hook+"manifest: [{apiVersion: v1, kind: Service, metadata: {name: wep}, spec: {ports: [{port: 80}]}}]")
	assert.Contains(t, w.decide().Warnings, warning)
	w.edit(hook + "manifest: [{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 80}]}}]")
	assert.NotContains(t, strings.Join(w.decide().Warnings, "\n"), "spec.hooks.shutdown.service")
}
