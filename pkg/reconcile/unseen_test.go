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
