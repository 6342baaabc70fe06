package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// One Application holds data.a, and two others wait for it. They copy its original value. When the holder releases
// the field, it leaves the value only if each of them has the copy and can hold the field. The last Application
// restores the field in all cases.
func TestHolderLeavesFieldToWaiters(t *testing.T) {
	const object = "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: default}, data: {a: "
	none := "ownership: Share\nmanifest: []"
	for name, test := range map[string]struct {
		change func(c *claimants, one, two, three *world) // before the release
		left   string
		after  string // after the last release; empty: theirs
	}{
		"both have the copy":          {left: "one"},
		"one of them has no copy":     {left: "theirs", change: func(_ *claimants, _, _, three *world) { three.app.Status.Resources[0].Baseline = nil }},
		"one of them cannot be read":  {left: "theirs", change: func(_ *claimants, one, _, _ *world) { delete(one.holders, "default/three") }},
		"one of them is suspended":    {left: "theirs", change: func(_ *claimants, _, two, _ *world) { two.app.Spec.Suspend = true }},
		"one of them only observes":   {left: "theirs", change: func(_ *claimants, _, two, _ *world) { two.app.Spec.Mode = v1alpha1.ModeObserve }},
		"one of them is deleted":      {left: "theirs", change: func(_ *claimants, _, two, _ *world) { two.app.DeletionTimestamp = &metav1.Time{} }},
		"one of them is another one":  {left: "one", change: func(_ *claimants, _, two, _ *world) { two.app.UID = "new" }},
		"one of them waits no longer": {left: "one", change: func(c *claimants, _, two, _ *world) { two.edit(none); c.reconcile(two) }},
		"none of them waits": {left: "theirs", change: func(c *claimants, _, two, three *world) {
			two.edit(none)
			c.reconcile(two)
			three.edit(none)
			c.reconcile(three)
		}},
		"the annotation is removed": {left: "theirs", change: func(c *claimants, _, _, _ *world) {
			set(c.live, nil, "metadata", "annotations", v1alpha1.AnnotationHolders)
		}},
		"the field has drifted": {left: "drifted", after: "drifted", change: func(c *claimants, _, _, _ *world) { set(c.live, "drifted", "data", "a") }},
		"the holder changed it first": {left: "new", change: func(c *claimants, one, two, three *world) {
			one.edit(object + "new}}]")
			for _, w := range []*world{one, two, three} {
				c.reconcile(w)
			}
		}},
		"the holder leaves its fields": {left: "one", after: "one", change: func(c *claimants, one, two, three *world) {
			one.app.Spec.OnRelease = v1alpha1.ReleaseLeave
			c.reconcile(two)
			c.reconcile(three)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two", "three")
			one, two, three := c.worlds[0], c.worlds[1], c.worlds[2]
			for _, w := range c.worlds {
				w.holders = map[string]*v1alpha1.Application{"default/one": one.app, "default/two": two.app, "default/three": three.app}
				delete(w.holders, "default/"+w.app.Name)
				w.edit(object + w.app.Name + "}}]")
				c.reconcile(w)
			}
			for _, w := range c.worlds {
				c.reconcile(w)
				require.Equal(t, "one", get(c.live, "data", "a"))
			}
			onRelease := v1alpha1.ReleasePolicy("")
			if test.change != nil {
				test.change(c, one, two, three)
				onRelease = one.app.Spec.OnRelease
			}
			one.edit(none)
			one.app.Spec.OnRelease = onRelease
			c.reconcile(one)
			assert.Equal(t, test.left, get(c.live, "data", "a"))
			assert.NotContains(t, c.holders(), "data.a")

			two.app.Spec.Suspend, two.app.Spec.Mode, two.app.DeletionTimestamp, two.app.UID = false, "", nil, "uid-two"
			c.reconcile(two)
			c.reconcile(three)
			two.edit(none)
			c.reconcile(two)
			c.reconcile(three)
			three.edit(none)
			c.reconcile(three)
			if test.after == "" {
				test.after = "theirs"
			}
			assert.Equal(t, test.after, get(c.live, "data", "a"))
			assert.Nil(t, get(c.live, "metadata", "annotations"))
			for _, w := range c.worlds {
				assert.Empty(t, w.app.Status.Resources)
			}
		})
	}
}

// The holder releases data.a to an Application that has a copy of its original value, and is deleted, but its status
// still has the field. Meanwhile the other Application releases the object, too. It waits until that status is
// written or gone, because only its copy has the original value then.
func TestWaiterRestoresForDeletedHolder(t *testing.T) {
	for name, release := range map[string]func(c *claimants, two *world){
		"its object leaves the manifests": func(c *claimants, two *world) { two.edit("ownership: Share\nmanifest: []"); c.reconcile(two) },
		"it is deleted": func(c *claimants, two *world) {
			two.app.DeletionTimestamp = &metav1.Time{}
			c.remove(two)
		},
		"the field leaves the manifest": func(c *claimants, two *world) {
			two.edit(part(map[string]string{"b": "two"}))
			c.reconcile(two)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaimants(t, "one", "two")
			one, two := c.worlds[0], c.worlds[1]
			one.holders = map[string]*v1alpha1.Application{"default/two": two.app}
			two.holders = map[string]*v1alpha1.Application{"default/one": one.app}
			one.edit(part(map[string]string{"a": "one"}))
			c.reconcile(one)
			two.edit(part(map[string]string{"a": "two", "b": "two"}))
			c.reconcile(two)
			c.reconcile(one)
			c.reconcile(two)

			unchanged := one.app.DeepCopy() // as the other Application reads it until the status is written
			before := unchanged.DeepCopy()
			before.DeletionTimestamp = &metav1.Time{}
			two.holders["default/one"] = before
			one.app.DeletionTimestamp = before.DeletionTimestamp
			c.remove(one)
			require.Equal(t, "one", get(c.live, "data", "a"))
			for _, holders := range []map[string]*v1alpha1.Application{{}, {"default/one": unchanged}} {
				two.holders = holders // the first one cannot be read
				release(c, two)
				require.Equal(t, "one", get(c.live, "data", "a"))
				require.NotEmpty(t, two.app.Status.Resources)
			}
			two.holders = map[string]*v1alpha1.Application{"default/one": before}
			release(c, two)
			require.Equal(t, "one", get(c.live, "data", "a"))
			require.NotEmpty(t, two.app.Status.Resources)

			two.holders["default/one"] = nil
			release(c, two)
			assert.Equal(t, "theirs", get(c.live, "data", "a"))
			two.edit("ownership: Share\nmanifest: []")
			c.reconcile(two)
			assert.Equal(t, c.before["data"], c.live["data"])
			assert.Nil(t, get(c.live, "metadata", "annotations"))
			assert.Empty(t, two.app.Status.Resources)
		})
	}
}

// remove decides about the deletion of one Application against the shared object.
func (c *claimants) remove(w *world) {
	c.t.Helper()
	w.live[config] = observer.CopyMap(c.live)
	p := plan.DecideDeletion(plan.Input{Application: w.app, Live: w.live, Kinds: w.kinds, Memory: w.mem, Now: w.now, Others: plan.Others{Holders: w.holders}})
	outcomes := map[manifest.ID]plan.Outcome{}
	for _, change := range p.Changes {
		if change.Writes() {
			outcomes[change.ID] = w.execute(change)
		}
	}
	w.store(p.Summarize(outcomes, w.now))
	c.written(w)
}

// The holder cannot be read for a while. It may release the field in that time, because it has seen the copy.
func TestCopyOfAnUnknownHolderIsKept(t *testing.T) {
	c := newClaimants(t, "one", "two")
	one, two := c.worlds[0], c.worlds[1]
	one.holders = map[string]*v1alpha1.Application{"default/two": two.app}
	known := map[string]*v1alpha1.Application{"default/one": one.app}
	for _, w := range []*world{one, two} {
		w.edit(part(map[string]string{"a": w.app.Name}))
		two.holders = known
		c.reconcile(w)
	}
	require.Len(t, two.app.Status.Resources[0].Baseline, 1)
	c.reconcile(one)

	two.holders = map[string]*v1alpha1.Application{}
	c.reconcile(two)
	assert.Len(t, two.app.Status.Resources[0].Baseline, 1)
	one.edit("ownership: Share\nmanifest: []")
	c.reconcile(one)
	require.Equal(t, "one", get(c.live, "data", "a"), "the other Application has the original value")
	two.holders = known
	c.reconcile(two)
	require.Equal(t, "two", get(c.live, "data", "a"))
	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	assert.Equal(t, c.before["data"], c.live["data"])
}

// The answer to the first write is lost, so the status waits for the field. The Application that holds another field
// cannot be read, and the watch has not delivered the write.
func TestFieldOfALostAnswerIsNotAwaited(t *testing.T) {
	c := newClaimants(t, "one", "two")
	one, two := c.worlds[0], c.worlds[1]
	one.edit(part(map[string]string{"a": "one"}))
	c.reconcile(one)
	known := map[string]*v1alpha1.Application{"default/one": one.app}
	two.holders = known
	two.edit(part(map[string]string{"a": "two", "b": "two"}))
	two.live[config] = observer.CopyMap(c.live)
	p := two.decide()
	two.protect(p)
	two.execute(p.Changes[0])
	two.store(p.Summarize(map[manifest.ID]plan.Outcome{config: {Problem: &plan.Problem{Reason: v1alpha1.ReasonRetrying}}}, two.now))
	require.Equal(t, []string{"data.a", "data.b"}, two.app.Status.Resources[0].Waits)

	two.holders = map[string]*v1alpha1.Application{}
	written := two.live[config]
	two.live[config] = observer.CopyMap(c.live)
	two.store(two.decide().Summarize(nil, two.now))
	c.live, two.holders = written, known
	c.reconcile(two)
	two.edit("ownership: Share\nmanifest: []")
	c.reconcile(two)
	assert.Equal(t, map[string]any{"a": "one", "b": "theirs", "free": "theirs"}, c.live["data"])
}
