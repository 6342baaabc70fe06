package plan_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// TestExplanationsAgreeWithThePlan checks the explanations of every golden case.
func TestExplanationsAgreeWithThePlan(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(goldenRoot, "*", "application.yaml"))
	require.NoError(t, err)
	explained := 0
	for _, file := range cases {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			p := plan.Decide(readCase(t, dir))
			for _, change := range p.Changes {
				e, ok := explain.Resource(p, change.ID, false)
				require.True(t, ok)
				agrees(t, change, e)
				explained++
			}
		})
	}
	assert.Greater(t, explained, 50)
}

// If only some fields of an object are released, they are restored first. The explanation lists them.
func TestRestoredFieldsAreExplained(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "an-absent-field-of-a-shared-object-is-restored"))
	in.Application.Spec.Manifest = []runtime.RawExtension{{Raw: []byte(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2}}`)}}
	p := plan.Decide(in)
	e, ok := explain.Resource(p, p.Changes[0].ID, false)
	require.True(t, ok)
	agrees(t, p.Changes[0], e)
	states := map[string]explain.State{}
	for _, f := range e.Fields {
		states[f.Path] = f.State
	}
	for path, state := range map[string]explain.State{
		"spec.paused": explain.Restored, "spec.template.spec.nodeSelector": explain.Restored, "spec.replicas": explain.Held, "spec.minReadySeconds": explain.Free,
	} {
		assert.Equal(t, state, states[path], path)
	}
}

func agrees(t *testing.T, change plan.Change, e explain.Explanation) {
	t.Helper()
	for _, d := range change.Fields {
		found := false
		for _, f := range e.Fields {
			found = found || observer.IsUnder(f.Path, d.Path) && f.Drift == d.Reason
		}
		assert.True(t, found, "the drift of %s is explained", d.Path)
	}
	type field struct {
		path string
		// A missing element without keys has the same path as the live element at its position.
		live bool
	}
	seen := map[field]bool{}
	for _, f := range e.Fields {
		assert.False(t, seen[field{f.Path, f.Live.Set}], "%s is explained once", f.Path)
		seen[field{f.Path, f.Live.Set}] = true
		assert.NotEmpty(t, f.Why, f.Path)
		if f.State == explain.Removed || f.State == explain.Restored {
			isIn := slices.ContainsFunc(change.Fields, func(d delta.Difference) bool { return observer.IsUnder(f.Path, d.Path) })
			assert.True(t, isIn, "%s is %s by the plan", f.Path, f.State)
		}
		assert.True(t, observer.IsUnder(f.Path, f.Parent) || f.Parent == "", "%s is in %s", f.Path, f.Parent)
		if change.Action == plan.Unchanged && change.Problem == nil && f.State != explain.Reported {
			assert.Empty(t, f.Drift, "%s of a resource to which nothing is done", f.Path)
		}
		if f.State == explain.Held && f.Drift == "" && f.Live.Set {
			assert.True(t, inAnyOrder(f.Desired.Any) == inAnyOrder(f.Live.Any) || isEmptyList(f.Desired), "%s is held and in place: %v, %v", f.Path, f.Desired, f.Live)
		}
		assert.False(t, f.State == explain.Free && f.Desired.Set, "%s is free and has no desired value", f.Path)
	}
}

// inAnyOrder returns a text that does not depend on the order of lists.
func inAnyOrder(v any) string {
	switch v := v.(type) {
	case map[string]any:
		text := ""
		for _, name := range keys(v) {
			text += name + ":" + inAnyOrder(v[name]) + ","
		}
		return "{" + text + "}"
	case []any:
		elements := []string{}
		for _, element := range v {
			elements = append(elements, inAnyOrder(element))
		}
		slices.Sort(elements)
		return fmt.Sprint(elements)
	}
	return fmt.Sprintf("%v", v)
}

// isEmptyList reports whether a value is an empty list. Such a list may become longer.
func isEmptyList(v delta.Value) bool {
	l, ok := v.Any.([]any)
	return ok && len(l) == 0
}

func TestRemovedFieldsAreNotFree(t *testing.T) {
	dir := filepath.Join(goldenRoot, "removing-a-field-from-the-manifest-removes-it-under-the-default-schema")
	p := plan.Decide(readCase(t, dir))
	e, _ := explain.Resource(p, p.Changes[0].ID, false)
	removed := 0
	for _, f := range e.Fields {
		if f.Drift == delta.Removed {
			removed++
			assert.Equal(t, explain.Removed, f.State)
			assert.Contains(t, f.Why, "it is removed")
		}
	}
	assert.Positive(t, removed)
}

func TestAKeyIsPutBackAfterItsElementWasRefused(t *testing.T) {
	w := newWorld(t, `
manifest:
- {apiVersion: v1, kind: Service, metadata: {name: web}, spec: {ports: [{port: 8080, protocol: TCP, targetPort: 8080}]}}
observerSchema:
- apiVersion: v1
  kind: Service
  metadata: {name: web}
  spec: {ports: [{port: observed, protocol: observed, targetPort: observed}, {observer_schema_list_min_length: 1, observer_schema_list_max_length: 4}]}
`)
	w.round()
	port := func(port int64) any { return map[string]any{"port": port, "protocol": "UDP", "targetPort": port} }
	w.set([]any{port(1), port(2)}, "spec", "ports")
	p := w.decide()
	require.Equal(t, []string{"spec.ports[port=8080,protocol=TCP] missing"}, paths(p))
	refused := p.RecordRejection(plan.Leaf{ID: p.Changes[0].ID, Path: "spec.ports[port=8080,protocol=TCP]"}, &plan.Problem{Reason: v1alpha1.ReasonRejected, Message: "no"})
	w.refuse = map[plan.Action]plan.Outcome{plan.Update: {Action: plan.Update, Object: w.only(), Problem: refused.Problem, Rejected: []plan.RejectedLeaf{refused}}}
	w.round()
	w.now = w.now.Add(time.Hour)
	assert.Equal(t, []string{
		"spec.ports[port=8080,protocol=TCP].port changed", "spec.ports[port=8080,protocol=TCP].protocol changed",
		"spec.ports[port=8080,protocol=TCP].targetPort changed",
	}, paths(w.decide()), "it does not begin again")
	w.refuse = nil
	w.round()
	w.quiet()
	assert.Equal(t, []any{map[string]any{"port": int64(8080), "protocol": "TCP", "targetPort": int64(8080)}, port(2)}, get(w.only(), "spec", "ports"))
	assert.Empty(t, w.mem.Rejections)
}

// A new element that waits is not contested.
func TestADeferredElementExplainsItsProblem(t *testing.T) {
	in := readCase(t, filepath.Join(goldenRoot, "a-container-with-a-mistyped-name-waits-on-a-shared-object"))
	p := plan.Decide(in)
	e, _ := explain.Resource(p, p.Changes[0].ID, false)
	i := slices.IndexFunc(e.Fields, func(f explain.Field) bool { return strings.HasSuffix(f.Path, "[name=wbe].image") })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "drift, and its correction is deferred: Deployment.apps default/worker: "+
		"spec.template.spec.containers has no element wbe: did you mean web?", e.Fields[i].Why)
}

func TestTheNearestClaimNamesTheHolder(t *testing.T) {
	w := newWorld(t, settings)
	w.round()
	w.set("theirs", "data", "free")
	w.set(`{"default/outer": {"uid": "app-2", "leaves": ["data"]}, "default/inner": {"uid": "app-3", "leaves": ["data.free"]}}`,
		"metadata", "annotations", v1alpha1.AnnotationHolders)
	p := w.decide()
	for range 20 {
		e, _ := explain.Resource(p, settingsID, false)
		i := slices.IndexFunc(e.Fields, func(f explain.Field) bool { return f.Path == "data.free" })
		require.Equal(t, "default/inner", e.Fields[i].Holder)
	}
}
