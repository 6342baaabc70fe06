package controller_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// The owner of an object and the Applications that share it follow one rule. The current holder of a
// field keeps it.
func TestSharingWithItsOwner(t *testing.T) {
	t.Parallel()
	const owned = `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {mode: owner, level: owner}}]`
	share := func(data string) string {
		return "ownership: Share\nmanifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: " + data + "}]"
	}
	t.Run("disjoint fields", func(t *testing.T) {
		f := given(t)
		f.Submit("owner", owned)
		f.AwaitHeld("owner")
		f.Mark()
		f.Submit("sharer", share("{more: sharer}"))
		f.AwaitHeld("sharer")
		f.AwaitHeld("owner")
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"patch configmaps": 3}, counts(f.touched()), "one asks, one answers, one holds")
		assert.Equal(t, map[string]any{"mode": "owner", "level": "owner", "more": "sharer"}, f.Get(configMaps, "common")["data"])

		f.Mark()
		f.Delete(applications, "owner")
		f.AwaitGone(applications, "owner")
		f.AwaitGone(configMaps, "common")
		_, message := f.AwaitReason("sharer", v1alpha1.ReasonWaiting)
		assert.Contains(t, message, "does not exist; it is shared, so it is not created")
		f.Quiet(quiet)
		assert.Equal(t, map[string]int{"delete configmaps": 1}, counts(f.touched()))
	})
	t.Run("the owner is first", func(t *testing.T) {
		f := given(t)
		f.Submit("owner", owned)
		f.AwaitHeld("owner")
		f.Submit("sharer", share("{mode: sharer, more: sharer}"))
		_, message := f.AwaitReason("sharer", v1alpha1.ReasonFieldClaimed)
		assert.Contains(t, message, "data.mode is held by Application "+f.namespace+"/owner")
		f.AwaitValue(configMaps, "common", "sharer", "data", "more")
		f.AwaitHeld("owner")
		f.Quiet(quiet)
		assert.Equal(t, "owner", value(f.Get(configMaps, "common"), "data", "mode"))

		f.Submit("owner", `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {level: owner}}]`)
		f.AwaitValue(configMaps, "common", "sharer", "data", "mode")
		f.AwaitHeld("sharer")
		f.AwaitHeld("owner")
		f.Quiet(quiet)
	})
	t.Run("the sharer is first", func(t *testing.T) {
		f := given(t)
		f.Create("helm", `{apiVersion: v1, kind: ConfigMap, metadata: {name: common}, data: {mode: theirs}}`)
		f.Submit("sharer", share("{mode: sharer}"))
		f.AwaitHeld("sharer")
		f.Submit("owner", "adoption: Always\n"+owned)
		_, message := f.AwaitReason("owner", v1alpha1.ReasonFieldClaimed)
		assert.Contains(t, message, "data.mode is held by Application "+f.namespace+"/sharer")
		f.AwaitValue(configMaps, "common", "owner", "data", "level")
		f.AwaitHeld("sharer")
		f.Quiet(quiet)

		f.Delete(applications, "sharer")
		f.AwaitGone(applications, "sharer")
		f.AwaitValue(configMaps, "common", "owner", "data", "mode")
		f.AwaitHeld("owner")
		f.Quiet(quiet)
		live := f.Get(configMaps, "common")
		assert.NotNil(t, value(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID))
		assert.Nil(t, value(live, "metadata", "annotations", v1alpha1.AnnotationHolders))
		assert.Nil(t, value(live, "metadata", "labels", v1alpha1.LabelHeld))
	})
}
