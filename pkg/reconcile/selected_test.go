package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// theirs adds an object of another owner, with or without the label that spec.select matches.
func (d *desk) theirs(front bool) {
	tier := "back"
	if front {
		tier = "front"
	}
	d.live[config] = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": config.Name, "namespace": config.Namespace, "uid": "u-1", "resourceVersion": "1", "labels": map[string]any{"tier": tier},
	}}
}

const frontTier = `select: [{apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {tier: front}}, hold: {data: {level: info}}}]`

// If an object repeatedly starts and stops matching, perhaps because of the controller's writes, it is held
// later each time. The delay is reset when the object has not changed for a while.
func TestChangingObjectIsHeldLater(t *testing.T) {
	d := newDesk(t, frontTier)
	for round := range 5 {
		d.theirs(true)
		assert.NotEmpty(t, d.take(t), "round %d", round)
		d.theirs(false)
		d.take(t)
	}
	d.theirs(true)
	assert.Empty(t, d.take(t), "it has gone five times")
	held := apimeta.FindStatusCondition(d.app.Status.Conditions, v1alpha1.ConditionHeld)
	assert.Equal(t, v1alpha1.ReasonWaiting, held.Reason)
	assert.Contains(t, held.Message, "repeatedly starts and stops matching spec.select")

	d.now = d.now.Add(3 * time.Second)
	assert.NotEmpty(t, d.take(t), "it was waited for")
	reported := func() string {
		held := apimeta.FindStatusCondition(d.app.Status.Conditions, v1alpha1.ConditionHeld)
		return held.Reason + " " + held.Message
	}
	message := reported()
	assert.Contains(t, message, "Waiting ConfigMap default/config repeatedly starts and stops matching spec.select")
	d.theirs(false)
	d.take(t)
	assert.Equal(t, message, reported(), "it is the same while the object does not match")
	left := d.now
	for d.now = left.Add(9 * time.Minute); d.now.Before(left.Add(10 * time.Minute)); d.now = d.now.Add(d.after) {
		d.take(t)
		assert.Equal(t, message, reported())
		require.Positive(t, d.after, "otherwise this loop would not end")
	}
	d.take(t)
	assert.Equal(t, "Held 0 fields in sync", reported(), "it has rested")
	d.theirs(true)
	assert.NotEmpty(t, d.take(t), "long ago")
}

// If the objects of a selection cannot be listed, the reconciliation reports no change, and the inventory
// is unchanged.
func TestASelectionThatCannotBeListed(t *testing.T) {
	d := newDesk(t, frontTier)
	d.theirs(true)
	assert.NotEmpty(t, d.take(t))
	assert.Len(t, d.app.Status.Resources, 1)

	d.theirs(false)
	d.mayNot = fmt.Errorf("not now")
	d.app.Generation++
	assert.Empty(t, d.take(t), "nothing is released")
	assert.Len(t, d.app.Status.Resources, 1)
	held := apimeta.FindStatusCondition(d.app.Status.Conditions, v1alpha1.ConditionHeld)
	assert.Equal(t, v1alpha1.ReasonRetrying, held.Reason)

	d.mayNot = nil
	d.now = d.now.Add(time.Minute)
	d.take(t, reconcile.News{Changed: true})
	assert.Empty(t, d.app.Status.Resources)
}

// RBAC can permit a list request for one name only. An item for a name that may be listed does not end the backoff of
// an item for another name in the same namespace.
func TestOneNameMayNotBeListed(t *testing.T) {
	d := newDesk(t, `select: [{apiVersion: v1, kind: ConfigMap, names: [secret], hold: {data: {level: info}}}, {apiVersion: v1, kind: ConfigMap, names: [`+config.Name+`], hold: {data: {level: info}}}]`)
	d.theirs(true)
	d.mayNot, d.mayList = fmt.Errorf("not now"), config.Name
	for range 3 {
		d.take(t)
		assert.NotEmpty(t, d.app.Status.Resources, "the item that may be listed is held")
		held := apimeta.FindStatusCondition(d.app.Status.Conditions, v1alpha1.ConditionHeld)
		assert.Equal(t, v1alpha1.ReasonRetrying, held.Reason)
		d.now = d.now.Add(10 * time.Millisecond)
	}
	assert.Equal(t, 1, d.denied, "the next attempt is later")
}
