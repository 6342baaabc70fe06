package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestNamespaceCreatedBeforeWait(t *testing.T) {
	now := time.Unix(1000, 0)
	told := 0
	// Another Application already keeps the watch running.
	n := NewNamespaces(nil, func() time.Time { return now }, func(types.UID) { told++ })
	n.waiting["another"], n.stop, n.arrived = waiter{names: []string{"elsewhere"}}, func() {}, map[string]time.Time{}
	shop := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	require.NoError(t, n.Add(shop))

	n.SetWaiting("app", []string{"shop"})
	assert.Equal(t, 1, told, "it was created after the Application's check")
	n.SetWaiting("app", []string{"shop"})
	assert.Equal(t, 1, told, "an Application is notified once, or else it would never be idle")
	now = now.Add(awaitDelay)
	n.SetWaiting("later", []string{"shop"})
	assert.Equal(t, 1, told, "a later check finds the namespace")

	require.NoError(t, n.Delete(shop))
	require.NoError(t, n.Add(shop))
	assert.Equal(t, 3, told, "both wait for it")
}
