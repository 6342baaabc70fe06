package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/reconcile"
)

// An object that a watch has not listed yet may exist nevertheless.
func TestNothingIsDoneBeforeTheFirstList(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]`)
	d.unseen = reconcile.ErrNotSeen
	assert.Empty(t, d.take(t))
	assert.Zero(t, d.statuses)
	d.unseen = nil
	assert.Equal(t, []string{"create config"}, d.take(t))
	assert.NotZero(t, d.statuses)
}

// A read returns managedFields, which the watch of a shared object drops. A read whose result is lost with an
// incomplete snapshot would not be repeated.
func TestSharedObjectIsReadOnlyAfterTheFirstList(t *testing.T) {
	d := newDesk(t, `manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {level: info}}]
ownership: Share`)
	d.theirs(true)
	d.unseen = reconcile.ErrNotSeen
	d.take(t)
	assert.Zero(t, d.reads)
	d.unseen = nil
	assert.Equal(t, []string{"patch config"}, d.take(t))
	assert.Equal(t, 1, d.reads)
}
