package plan_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "holdfast.dev/holdfast/internal/repeatable"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

var config = manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "config"}

// claimants holds Applications that share one object. Each has its own world, which contains the
// object.
type claimants struct {
	t      *testing.T
	worlds []*world
	live   map[string]any
	before map[string]any
	seen   func() // called after each write
	log    func(string, ...any)
}

func newClaimants(t *testing.T, names ...string) *claimants {
	t.Helper()
	before := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1"},
		"data":     map[string]any{"a": "theirs", "b": "theirs", "free": "theirs"},
	}
	c := &claimants{t: t, live: observer.CopyMap(before), before: before}
	for i, name := range names {
		w := newWorld(t, "ownership: Share\nmanifest: []")
		w.app.Name, w.app.UID = name, types.UID("uid-"+name)
		w.app.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC))
		c.worlds = append(c.worlds, w)
	}
	return c
}

// reconcile decides for one Application against the shared object.
func (c *claimants) reconcile(w *world) (*plan.Plan, plan.Result) {
	c.t.Helper()
	w.live[config] = observer.CopyMap(c.live)
	p, result := w.round()
	if c.log != nil {
		c.log("reconcile of %s: %v | %v\n   %v\n  base %+v", w.app.Name, p.Changes, p.Warnings, jsonText(w.live[config]), jsonText(w.app.Status.Resources))
	}
	c.written(w)
	return p, result
}

// written copies the object from the world of an Application. Each write increments the resource
// version.
func (c *claimants) written(w *world) {
	if c.equal(w.live[config], c.live) {
		return
	}
	version, _ := strconv.Atoi(get(c.live, "metadata", "resourceVersion").(string))
	c.live = observer.CopyMap(w.live[config])
	set(c.live, strconv.Itoa(version+1), "metadata", "resourceVersion")
	if c.seen != nil {
		c.seen()
	}
}

func (c *claimants) equal(a, b map[string]any) bool { return assert.ObjectsAreEqual(a, b) }

// holders returns the holder of each field, as the annotation of the object records it.
func (c *claimants) holders() map[string]string {
	c.t.Helper()
	text, _ := get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders).(string)
	if text == "" {
		return nil
	}
	var all map[string]struct{ Leaves []string }
	require.NoError(c.t, json.Unmarshal([]byte(text), &all))
	by := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, leaf := range all[name].Leaves {
			require.Empty(c.t, by[leaf], "%s is held by two: %s", leaf, text)
			by[leaf] = name
		}
	}
	return by
}

func part(data map[string]string) string {
	text := "ownership: Share\nmanifest:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {"
	for _, key := range slices.Sorted(maps.Keys(data)) {
		text += fmt.Sprintf("%s: %s, ", key, data[key])
	}
	return text + "}}"
}

// The holder of a field keeps it. Another Application holds the other fields of its manifest, and
// reports the holder. It takes the field over as soon as the holder releases it.
func TestHoldersKeepTheirFields(t *testing.T) {
	c := newClaimants(t, "one", "two")
	one, two := c.worlds[0], c.worlds[1]
	two.edit(part(map[string]string{"a": "two", "b": "two"}))
	c.reconcile(two)
	one.edit(part(map[string]string{"a": "one", "c": "one"})) // older, but reconciled later
	_, result := c.reconcile(one)
	assert.Equal(t, map[string]any{"a": "two", "b": "two", "c": "one", "free": "theirs"}, c.live["data"])
	status, reason, message := one.condition(v1alpha1.ConditionStalled)
	assert.Equal(t, "True", status)
	assert.Equal(t, v1alpha1.ReasonFieldClaimed, reason)
	assert.Contains(t, message, "ConfigMap default/config: data.a is held by Application default/two")
	assert.Equal(t, "kubectl annotate configmap -n default config holdfast.dev/holders-", result.Status.Resources[0].Remedy.Command)
	for _, w := range c.worlds {
		p, _ := c.reconcile(w)
		require.False(t, p.Changes[0].Writes())
	}

	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	c.reconcile(one)
	assert.Equal(t, map[string]any{"a": "one", "b": "theirs", "c": "one", "free": "theirs"}, c.live["data"])
	_, reason, _ = one.condition(v1alpha1.ConditionStalled)
	assert.Empty(t, reason)

	one.edit("ownership: Share\nmanifest: []")
	c.reconcile(one)
	set(c.live, "1", "metadata", "resourceVersion")
	assert.Equal(t, c.before, c.live, "the object has its original value")
}

// If the object names two holders of a field, the older Application holds it.
func TestOfTwoThatAreNamedTheOlderHolds(t *testing.T) {
	c := newClaimants(t, "one", "two")
	set(c.live, map[string]any{v1alpha1.AnnotationHolders: `{"default/one":{"uid":"uid-one","created":"2026-01-01T00:00:00Z","leaves":["data.a"]},` +
		`"default/two":{"uid":"uid-two","created":"2026-01-01T00:00:01Z","leaves":["data.a"]}}`}, "metadata", "annotations")
	for i := range 2 {
		c.worlds[1-i].edit(part(map[string]string{"a": c.worlds[1-i].app.Name}))
		c.reconcile(c.worlds[1-i])
	}
	assert.Equal(t, "one", get(c.live, "data", "a"))
	assert.Equal(t, map[string]string{"data.a": "default/one"}, c.holders())
}

// A younger Application does not claim a free field that an older one may still claim. It waits only
// for the older Application.
func TestTheOlderComesFirst(t *testing.T) {
	given := func(t *testing.T) (c *claimants, one, two *world) {
		t.Helper()
		c = newClaimants(t, "one", "two")
		c.worlds[0].edit(part(map[string]string{"a": "one"}))
		c.worlds[1].edit(part(map[string]string{"a": "two", "b": "two"}))
		return c, c.worlds[0], c.worlds[1]
	}
	waits := map[manifest.ID][]string{config: {"default/one"}}
	t.Run("it has not looked", func(t *testing.T) {
		c, one, two := given(t)
		two.older = waits
		p, result := c.reconcile(two)
		assert.False(t, p.HasWork())
		assert.Nil(t, p.WriteAheadStatus())
		assert.Equal(t, c.before, c.live)
		assert.Positive(t, result.RetryAfter)
		_, reason, message := two.condition(v1alpha1.ConditionHeld)
		assert.Equal(t, v1alpha1.ReasonWaiting, reason)
		assert.Contains(t, message, "ConfigMap default/config is also claimed by Application default/one, which is older")
		c.reconcile(one)
		c.reconcile(two)
		assert.Equal(t, map[string]string{"data.a": "default/one", "data.b": "default/two"}, c.holders())
	})
	t.Run("it wants nothing of it", func(t *testing.T) {
		c, _, two := given(t)
		c.reconcile(two)
		assert.Equal(t, map[string]string{"data.a": "default/two", "data.b": "default/two"}, c.holders())
	})
	t.Run("the younger one holds a part", func(t *testing.T) {
		c, _, two := given(t)
		two.edit(part(map[string]string{"b": "two"}))
		c.reconcile(two)
		two.edit(part(map[string]string{"a": "two", "b": "two"}))
		two.older = waits
		c.reconcile(two)
		set(c.live, "mallory", "data", "b")
		c.reconcile(two)
		assert.Equal(t, map[string]any{"a": "theirs", "b": "two", "free": "theirs"}, c.live["data"], "that is held on")
	})
	t.Run("the tracking metadata was removed", func(t *testing.T) {
		c, _, two := given(t)
		c.reconcile(two)
		delete(get(c.live, "metadata").(map[string]any), "annotations")
		two.older = waits
		c.reconcile(two)
		assert.Equal(t, map[string]string{"data.a": "default/two", "data.b": "default/two"}, c.holders(), "the annotation reports the holders, and does not decide")
	})
}

// Fields that are released while the Application is suspended, and then held again, keep their original
// values.
func TestNothingIsForgottenWhileSuspended(t *testing.T) {
	c := newClaimants(t, "one", "two")
	one, two := c.worlds[0], c.worlds[1]
	one.edit(part(map[string]string{"a": "one"}))
	c.reconcile(one)
	spec := part(map[string]string{"b": "two", "c": "two"})
	two.edit(spec)
	c.reconcile(two)
	recorded := two.app.Status.Resources[0].Baseline
	require.Len(t, recorded, 2)
	two.edit(spec + "\nsuspend: true\nfields: [{resource: {kind: ConfigMap, name: config}, leave: ['*']}]")
	two.live[config] = observer.CopyMap(c.live)
	p := two.decide()
	require.True(t, p.IsNoOp())
	two.store(p.Summarize(nil, two.now))
	assert.Equal(t, recorded, two.app.Status.Resources[0].Baseline)
	two.edit(spec)
	c.reconcile(two)
	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	assert.Equal(t, map[string]any{"a": "one", "b": "theirs", "free": "theirs"}, c.live["data"])
}

// A claim on an entire object covers every field.
func TestAClaimOfAWholeObject(t *testing.T) {
	c := newClaimants(t, "one")
	set(c.live, map[string]any{v1alpha1.AnnotationHolders: `{"x/y":{"uid":"uid-y"}}`}, "metadata", "annotations")
	c.worlds[0].edit(part(map[string]string{"a": "one"}))
	c.reconcile(c.worlds[0])
	assert.Equal(t, "theirs", get(c.live, "data", "a"))
	_, _, message := c.worlds[0].condition(v1alpha1.ConditionStalled)
	assert.Contains(t, message, "data.a is held by Application x/y")
}

// Applications change their claims on one object in any order, and die between a write and the status
// update. Each field has one holder and has the value of that holder. Free fields do not change. When
// all Applications have released the object, it has its original content.
func TestClaimsWhateverHappens(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := newClaimants(t, "one", "two", "three")
		c.log = r.Logf
		wants := make([]map[string]string, len(c.worlds))
		pick := func(r *rapid.T) int { return rapid.IntRange(0, len(c.worlds)-1).Draw(r, "who") }
		r.Repeat(map[string]func(*rapid.T){
			"an edit": func(r *rapid.T) {
				i := pick(r)
				wants[i] = map[string]string{}
				for _, key := range []string{"a", "b", "c", "d"} {
					if rapid.Bool().Draw(r, key) {
						wants[i][key] = c.worlds[i].app.Name
					}
				}
				c.worlds[i].edit(part(wants[i]))
			},
			"a reconcile": func(r *rapid.T) { c.reconcile(c.worlds[pick(r)]) },
			"a death": func(r *rapid.T) {
				w := c.worlds[pick(r)]
				w.live[config] = observer.CopyMap(c.live)
				w.die(rapid.Bool().Draw(r, "executed"))
				c.written(w)
			},
			"": func(*rapid.T) { c.holders() },
		})
		for range 8 {
			for _, w := range c.worlds {
				c.reconcile(w)
			}
		}
		by := c.holders()
		data, _ := c.live["data"].(map[string]any)
		require.Equal(r, "theirs", data["free"])
		for i, want := range wants {
			for key := range want {
				require.NotEmpty(r, by["data."+key], "%s claims %s, but no Application holds it", c.worlds[i].app.Name, key)
			}
		}
		for _, key := range []string{"a", "b", "c", "d"} {
			if name := by["data."+key]; name != "" {
				require.Equal(r, name, "default/"+fmt.Sprint(data[key]), "of %s", key)
				continue
			}
			require.Equal(r, get(c.before, "data", key), data[key], "no Application holds %s", key)
		}
		for _, w := range c.worlds {
			w.edit("ownership: Share\nmanifest: []")
			c.reconcile(w)
			c.reconcile(w)
		}
		set(c.live, "1", "metadata", "resourceVersion")
		require.Equal(r, c.before, c.live)
	})
}

func jsonText(v any) string { b, _ := json.Marshal(v); return string(b) }

// owner returns the world of an Application that adopts and owns the object.
func (c *claimants) owner(name, data string) *world {
	c.t.Helper()
	w := newWorld(c.t, "adoption: Always\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: "+data+"}]")
	w.app.Name, w.app.UID = name, types.UID("uid-"+name)
	return w
}

// The owner of an object and the Applications that share it follow one rule: the first to hold a field
// keeps it, and the other reports the conflict.
func TestAnOwnerAndASharerFollowOneRule(t *testing.T) {
	rest := func(t *testing.T, c *claimants, worlds ...*world) {
		t.Helper()
		for range 4 {
			for _, w := range worlds {
				c.reconcile(w)
			}
		}
		for _, w := range worlds {
			p, _ := c.reconcile(w)
			require.False(t, p.Changes[0].Writes(), "%s: %v", w.app.Name, p.Changes[0].Fields)
			require.Empty(t, w.app.Status.Contested)
		}
	}
	t.Run("the owner was first", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner}"), c.worlds[0]
		c.reconcile(owner)
		sharer.edit(part(map[string]string{"a": "sharer", "c": "sharer"}))
		c.reconcile(sharer)
		assert.Equal(t, "owner", get(c.live, "data", "a"), "not even for a moment")
		assert.Nil(t, get(c.live, "data", "c"))
		_, reason, message := sharer.condition(v1alpha1.ConditionHeld)
		assert.Equal(t, v1alpha1.ReasonWaiting, reason)
		assert.Contains(t, message, "is owned by Application default/owner, which has not recorded its held fields yet")
		rest(t, c, owner, sharer)
		assert.Equal(t, map[string]string{"data.a": "default/owner", "data.c": "default/sharer"}, c.holders())
		assert.Equal(t, map[string]any{"a": "owner", "b": "theirs", "c": "sharer", "free": "theirs"}, c.live["data"])
		_, reason, message = sharer.condition(v1alpha1.ConditionStalled)
		assert.Equal(t, v1alpha1.ReasonFieldClaimed, reason)
		assert.Contains(t, message, "data.a is held by Application default/owner")
		_, reason, _ = owner.condition(v1alpha1.ConditionStalled)
		assert.Empty(t, reason)

		sharer.edit("ownership: Share\nmanifest: []")
		c.reconcile(sharer)
		c.reconcile(owner)
		assert.Nil(t, get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders), "the marks go with the last sharer")
		assert.Equal(t, map[string]any{"a": "owner", "b": "theirs", "free": "theirs"}, c.live["data"])
		owner.quiet()
	})
	t.Run("the sharer was first", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner, b: owner}"), c.worlds[0]
		sharer.edit(part(map[string]string{"a": "sharer"}))
		c.reconcile(sharer)
		rest(t, c, owner, sharer)
		assert.Equal(t, map[string]any{"a": "sharer", "b": "owner", "free": "theirs"}, c.live["data"])
		_, reason, message := owner.condition(v1alpha1.ConditionStalled)
		assert.Equal(t, v1alpha1.ReasonFieldClaimed, reason)
		assert.Contains(t, message, "data.a is held by Application default/sharer")

		sharer.edit("ownership: Share\nmanifest: []")
		c.reconcile(sharer)
		c.reconcile(owner)
		assert.Equal(t, map[string]any{"a": "owner", "b": "owner", "free": "theirs"}, c.live["data"])
		_, reason, _ = owner.condition(v1alpha1.ConditionStalled)
		assert.Empty(t, reason)
	})
	t.Run("the owner holds what is around it", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner, b: owner}"), c.worlds[0]
		owner.edit(`
adoption: Always
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: owner, b: owner}}]
observerSchema: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: observed}]`)
		sharer.edit(part(map[string]string{"c": "sharer"}))
		c.reconcile(sharer)
		rest(t, c, owner, sharer)
		assert.Equal(t, map[string]any{"a": "owner", "b": "owner", "c": "sharer"}, c.live["data"])
		set(c.live, "mallory", "data", "a")
		set(c.live, "mallory", "data", "c")
		rest(t, c, owner, sharer)
		assert.Equal(t, map[string]any{"a": "owner", "b": "owner", "c": "sharer"}, c.live["data"])
		for _, w := range []*world{owner, sharer} {
			_, reason, _ := w.condition(v1alpha1.ConditionStalled)
			assert.Empty(t, reason)
		}
	})
	t.Run("the owner holds all labels and annotations", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner}"), c.worlds[0]
		owner.edit(`
adoption: Always
manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: owner}}]
fields: [{resource: {kind: ConfigMap, name: config}, hold: ["*", metadata.labels, metadata.annotations]}]`)
		c.reconcile(owner)
		sharer.edit(part(map[string]string{"c": "sharer"}))
		rest(t, c, owner, sharer)
		assert.Equal(t, map[string]any{"a": "owner", "b": "theirs", "c": "sharer", "free": "theirs"}, c.live["data"])
		set(c.live, "mallory", "metadata", "annotations", "team")
		rest(t, c, owner, sharer)
		assert.Nil(t, get(c.live, "metadata", "annotations", "team"))
		sharer.edit("ownership: Share\nmanifest: []")
		c.reconcile(sharer)
		rest(t, c, owner)
		assert.Nil(t, get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders))
		assert.Nil(t, get(c.live, "metadata", "labels", v1alpha1.LabelHeld))
	})
	t.Run("the owner learns all labels while a sharer holds one", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner}"), c.worlds[0]
		const manifest = "adoption: Always\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: owner}}]\n"
		owner.edit(manifest)
		sharer.edit("ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {team: net}}}]")
		rest(t, c, owner, sharer)
		owner.edit(manifest + `fields: [{resource: {kind: ConfigMap, name: config}, hold: ["*", metadata.labels, metadata.annotations]}]`)
		rest(t, c, owner, sharer)
		sharer.edit("ownership: Share\nmanifest: []")
		c.reconcile(sharer)
		rest(t, c, owner)
		assert.Equal(t, map[string]any{v1alpha1.LabelApplicationUID: "uid-owner"}, get(c.live, "metadata", "labels"))
		assert.Nil(t, get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders))
	})
	t.Run("the owner learns a set while a sharer holds an element", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner}"), c.worlds[0]
		const manifest = "adoption: Always\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: owner}}]\n"
		set(c.live, []any{"example.com/theirs"}, "metadata", "finalizers")
		owner.edit(manifest)
		sharer.edit("ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, finalizers: [example.com/shared]}}]")
		rest(t, c, owner, sharer)
		require.Equal(t, []any{"example.com/theirs", "example.com/shared"}, get(c.live, "metadata", "finalizers"))
		owner.edit(manifest + `fields: [{resource: {kind: ConfigMap, name: config}, hold: ["*", metadata.finalizers]}]`)
		rest(t, c, owner, sharer)
		sharer.edit("ownership: Share\nmanifest: []")
		c.reconcile(sharer)
		rest(t, c, owner)
		assert.Equal(t, []any{"example.com/theirs"}, get(c.live, "metadata", "finalizers"))
	})
	t.Run("the owner lets the object go", func(t *testing.T) {
		c := newClaimants(t, "sharer")
		owner, sharer := c.owner("owner", "{a: owner}"), c.worlds[0]
		c.reconcile(owner)
		sharer.edit(part(map[string]string{"a": "sharer"}))
		rest(t, c, owner, sharer)
		owner.edit("manifest: []")
		c.reconcile(owner)
		c.reconcile(sharer)
		assert.Equal(t, map[string]string{"data.a": "default/sharer"}, c.holders())
		assert.Equal(t, "sharer", get(c.live, "data", "a"))
	})
	t.Run("who shared it owns it", func(t *testing.T) {
		c := newClaimants(t, "one")
		c.worlds[0].edit(part(map[string]string{"a": "one"}))
		c.reconcile(c.worlds[0])
		c.worlds[0].edit("adoption: Always\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {a: one}}]")
		rest(t, c, c.worlds[0])
		assert.Nil(t, get(c.live, "metadata", "annotations", v1alpha1.AnnotationHolders))
		assert.Nil(t, get(c.live, "metadata", "labels", v1alpha1.LabelHeld))
	})
}

// Two Applications that need different types at one field path conflict, and only one of them holds the
// field.
func TestConflictingShapesClaimEachOther(t *testing.T) {
	for name, forms := range map[string][2]string{
		"a list and a map":             {"{list: [a]}", "{list: {size: 1}}"},
		"a value and a field of a map": {"{place: {name: it}}", "{place: it}"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two")
			for i, w := range c.worlds {
				w.edit("ownership: Share\nmanifest:\n- {apiVersion: example.com/v1, kind: Thing, metadata: {name: config}, spec: " + forms[i] + "}")
			}
			id := manifest.ID{Group: "example.com", Kind: "Thing", Namespace: "default", Name: "config"}
			live := map[string]any{
				"apiVersion": "example.com/v1", "kind": "Thing",
				"metadata": map[string]any{"name": "config", "namespace": "default", "uid": "u-1", "resourceVersion": "1"},
			}
			for range 4 {
				for _, w := range c.worlds {
					w.live[id] = observer.CopyMap(live)
					w.round()
					live = observer.CopyMap(w.live[id])
				}
			}
			for _, w := range c.worlds {
				w.live[id] = observer.CopyMap(live)
				p, _ := w.round()
				require.Nil(t, p.Invalid)
				require.False(t, p.Changes[0].Writes(), "%s: %v", w.app.Name, p.Changes[0].Fields)
			}
			_, reason, _ := c.worlds[0].condition(v1alpha1.ConditionStalled)
			require.Empty(t, reason)
			_, reason, _ = c.worlds[1].condition(v1alpha1.ConditionStalled)
			require.Equal(t, v1alpha1.ReasonFieldClaimed, reason)
		})
	}
}

// Two Applications hold a field one after the other. In the end the field has its original value. The
// order of the reconciliations does not matter, and neither does a death of the first Application.
func TestAFieldThatTwoHeldIsRestored(t *testing.T) {
	for _, first := range []string{"the holder", "the claimant"} {
		for _, dies := range []string{"no", "before the patch", "after the patch"} {
			t.Run(first+" looks first, dies: "+dies, func(t *testing.T) {
				c := newClaimants(t, "one", "two")
				one, two := c.worlds[0], c.worlds[1]
				for _, w := range c.worlds {
					w.edit(part(map[string]string{"a": w.app.Name, "new": w.app.Name})) // "new" is absent
					c.reconcile(w)
				}
				require.Equal(t, "one", get(c.live, "data", "a"))
				_, reason, _ := two.condition(v1alpha1.ConditionStalled)
				require.Equal(t, v1alpha1.ReasonFieldClaimed, reason)

				one.edit("ownership: Share\nmanifest: []")
				if first == "the claimant" {
					c.reconcile(two)
				}
				if dies != "no" {
					one.live[config] = observer.CopyMap(c.live)
					one.die(dies == "after the patch")
					c.written(one)
					c.reconcile(two)
				}
				for range 2 {
					c.reconcile(one)
					c.reconcile(two)
				}
				require.Equal(t, map[string]any{"a": "two", "b": "theirs", "free": "theirs", "new": "two"}, c.live["data"])
				require.Equal(t, map[string]string{"data.a": "default/two", "data.new": "default/two"}, c.holders())
				row := two.app.Status.Resources[0]
				require.Equal(t, get(c.live, "metadata", "uid"), string(row.UID))
				require.Len(t, row.Baseline, 2)
				require.Equal(t, "data.a", row.Baseline[0].Path)
				require.JSONEq(t, `"theirs"`, string(row.Baseline[0].Value.Raw), "and not what the other one held")
				require.Equal(t, "data.new", row.Baseline[1].Path)
				require.Nil(t, row.Baseline[1].Value, "it was not there before either")
				for _, h := range two.app.Status.History {
					require.NotEqual(t, v1alpha1.OutcomeCorrected, h.Outcome, "it was no drift: %+v", h)
				}

				two.edit("ownership: Share\nmanifest: []")
				c.reconcile(two)
				c.reconcile(two)
				set(c.live, "1", "metadata", "resourceVersion")
				require.Equal(t, c.before, c.live)
			})
		}
	}
}

// A release restores the value from before the first hold. It restores neither drift, with or without
// the tracking metadata, nor a value that the manifest had in between.
func TestDriftIsNothingFromBefore(t *testing.T) {
	for name, row := range map[string]struct {
		held  []string // the successive values of the manifest
		strip bool
		drift string
		is    any
	}{
		"it was in place":                           {[]string{"theirs"}, false, "evil", "theirs"},
		"it was in place, and the marks go":         {[]string{"theirs"}, true, "evil", "theirs"},
		"it was in place, and is changed":           {[]string{"theirs", "ours"}, false, "evil", "theirs"},
		"it was changed":                            {[]string{"ours"}, false, "evil", "theirs"},
		"it was changed, and the marks go":          {[]string{"ours"}, true, "evil", "theirs"},
		"it was changed twice":                      {[]string{"ours", "more"}, true, "evil", "theirs"},
		"it was in place, and drifts with a change": {[]string{"theirs", "ours"}, true, "", "theirs"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one")
			one := c.worlds[0]
			change := func(value string) {
				set(c.live, value, "data", "a")
				if row.strip {
					delete(c.live["metadata"].(map[string]any), "annotations")
					delete(c.live["metadata"].(map[string]any), "labels")
				}
			}
			for i, value := range row.held {
				if i > 0 && row.drift == "" {
					change("evil")
				}
				one.edit(part(map[string]string{"a": value}))
				for range 3 {
					c.reconcile(one)
				}
				require.Equal(t, value, get(c.live, "data", "a"))
			}
			if row.drift != "" {
				change(row.drift)
				for range 3 {
					c.reconcile(one)
				}
				require.Equal(t, row.held[len(row.held)-1], get(c.live, "data", "a"))
			}
			one.edit("ownership: Share\nmanifest: []")
			for range 2 {
				c.reconcile(one)
			}
			require.Equal(t, row.is, get(c.live, "data", "a"))
		})
	}
}

// The status of the Application that created a parent lends the parent to the other holders. The last
// holder removes it. The annotations of the object cannot lend a parent.
func TestASharedParentIsRemovedByTheLastHolder(t *testing.T) {
	for name, test := range map[string]struct {
		lend   func(*v1alpha1.Application) map[string]*v1alpha1.Application
		stays  bool
		before string // the namespace of the first holder
	}{
		"the status of the holder records it": {lend: func(one *v1alpha1.Application) map[string]*v1alpha1.Application {
			return map[string]*v1alpha1.Application{"default/one": one}
		}},
		"the holder has another UID": {stays: true, lend: func(one *v1alpha1.Application) map[string]*v1alpha1.Application {
			one.UID = "another"
			return map[string]*v1alpha1.Application{"default/one": one}
		}},
		"the holder does not exist": {stays: true, lend: func(*v1alpha1.Application) map[string]*v1alpha1.Application {
			return map[string]*v1alpha1.Application{"default/one": nil}
		}},
		"its status has nothing of it": {stays: true, lend: func(one *v1alpha1.Application) map[string]*v1alpha1.Application {
			one.Status.Resources = nil
			return map[string]*v1alpha1.Application{"default/one": one}
		}},
		"it is in another namespace": {stays: true, before: "far", lend: func(one *v1alpha1.Application) map[string]*v1alpha1.Application {
			return map[string]*v1alpha1.Application{"far/one": one}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two")
			delete(c.live, "data")
			one, two := c.worlds[0], c.worlds[1]
			object := "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: default}, data: {%s: x}}]"
			if test.before != "" {
				one.app.Namespace = test.before
			}
			one.edit(fmt.Sprintf(object, "a"))
			c.reconcile(one)
			two.holders = test.lend(one.app.DeepCopy())
			two.edit(fmt.Sprintf(object, "b"))
			c.reconcile(two)
			require.Equal(t, map[string]any{"a": "x", "b": "x"}, c.live["data"])

			one.edit("ownership: Share\nmanifest: []")
			c.reconcile(one)
			require.Equal(t, map[string]any{"b": "x"}, c.live["data"])
			two.edit("ownership: Share\nmanifest: []")
			c.reconcile(two)
			if test.stays {
				assert.Equal(t, map[string]any{}, c.live["data"])
			} else {
				assert.NotContains(t, c.live, "data")
			}
		})
	}
}
