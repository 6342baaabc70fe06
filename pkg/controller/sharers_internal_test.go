package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
)

const (
	sharesOne = `{ownership: Share, manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}, {apiVersion: v1, kind: Namespace, metadata: {name: theirs}}]}`
	ownsOne   = `{manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}}]}`
)

// storedSharer returns an Application in the form of the store.
func storedSharer(t *testing.T, uid, spec string, generation int64) *store.Object {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Application"}}
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(spec), &content))
	u.Object["spec"] = content
	u.SetNamespace("ns")
	u.SetName(uid)
	u.SetUID(types.UID(uid))
	u.SetGeneration(generation)
	u.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	object, err := store.NewObject(u)
	require.NoError(t, err)
	return object
}

func TestTheIndexOfSharers(t *testing.T) {
	theirs := manifest.ID{Kind: "ConfigMap", Namespace: "ns", Name: "theirs"}
	asking := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{UID: "m", CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}}
	decided := func(change plan.Change, uid types.UID) (*v1alpha1.Application, *plan.Plan) {
		change.Shared, change.ID = true, theirs
		app := &v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: 1}}
		p := plan.NewInvalid(plan.Input{Application: app}, nil)
		p.Changes = []plan.Change{change}
		return app, p
	}
	for _, row := range []struct {
		name, uid, spec string
		id              manifest.ID
		decision        *plan.Change
		want            bool
	}{
		{"an older one", "a", sharesOne, theirs, nil, true},
		{"a younger one", "z", sharesOne, theirs, nil, false},
		{"itself", "m", sharesOne, theirs, nil, false},
		{"one that owns", "a", ownsOne, theirs, nil, false},
		{"another object", "a", sharesOne, manifest.ID{Kind: "ConfigMap", Namespace: "ns", Name: "other"}, nil, false},
		{"another namespace", "a", sharesOne, manifest.ID{Kind: "ConfigMap", Namespace: "elsewhere", Name: "theirs"}, nil, false},
		{"an object in no namespace", "a", sharesOne, manifest.ID{Kind: "Namespace", Name: "theirs"}, nil, true},
		{"it selects", "a", `{select: [{apiVersion: v1, kind: ConfigMap, names: ["the*"], hold: {data: {}}}]}`, theirs, nil, true},
		{"it selects others", "a", `{select: [{apiVersion: v1, kind: ConfigMap, names: ["our*"], hold: {data: {}}}]}`, theirs, nil, false},
		{"it has looked", "a", sharesOne, theirs, &plan.Change{ResourceVersion: "7"}, false},
		{"it has looked before", "a", sharesOne, theirs, &plan.Change{ResourceVersion: "6"}, true},
		{"it saw nothing", "a", sharesOne, theirs, &plan.Change{Problem: &plan.Problem{Reason: v1alpha1.ReasonWaiting}}, true},
		{"it may not look", "a", sharesOne, theirs, &plan.Change{Problem: &plan.Problem{Reason: v1alpha1.ReasonForbidden}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newSharers()
			s.sees(nil, storedSharer(t, row.uid, row.spec, 1))
			if row.decision != nil {
				s.concluded(decided(*row.decision, types.UID(row.uid)))
			}
			assert.Equal(t, row.want, len(s.older(asking, row.id, "7")) > 0)
		})
	}
	t.Run("its spec is refused", func(t *testing.T) {
		s := newSharers()
		s.sees(nil, storedSharer(t, "a", sharesOne, 1))
		app, p := decided(plan.Change{}, "a")
		p.Changes, p.Invalid = nil, &plan.Problem{}
		s.concluded(app, p)
		assert.Empty(t, s.older(asking, theirs, "7"))
	})
	t.Run("a changed spec, then a deletion", func(t *testing.T) {
		s := newSharers()
		before := storedSharer(t, "a", sharesOne, 1)
		s.sees(nil, before)
		s.concluded(decided(plan.Change{ResourceVersion: "7"}, "a"))
		s.sees(before, storedSharer(t, "a", sharesOne, 1))
		assert.Empty(t, s.older(asking, theirs, "7"), "a status is no other spec")
		s.sees(before, storedSharer(t, "a", sharesOne, 2))
		assert.Equal(t, []string{"ns/a"}, s.older(asking, theirs, "7"))
		s.concluded(decided(plan.Change{ResourceVersion: "7"}, "a"))
		assert.Equal(t, []string{"ns/a"}, s.older(asking, theirs, "7"), "that decision was for the spec before")
		s.forget("a")
		assert.Empty(t, s.older(asking, theirs, "7"))
		assert.Equal(t, newSharers(), s, "nothing is left")
	})
}
