package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestANamespaceComesBeforeItIsAwaited(t *testing.T) {
	now := time.Unix(1000, 0)
	told := 0
	// A watch goes on already, for another Application.
	n := NewNamespaces(nil, func() time.Time { return now }, func(types.UID) { told++ })
	n.waiting["another"], n.stop, n.arrived = waiter{names: []string{"elsewhere"}}, func() {}, map[string]time.Time{}
	shop := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	require.NoError(t, n.Add(shop))

	n.Await("app", []string{"shop"})
	assert.Equal(t, 1, told, "it came since the Application looked")
	n.Await("app", []string{"shop"})
	assert.Equal(t, 1, told, "an Application is told once, or else it would never rest")
	now = now.Add(awaitDelay)
	n.Await("later", []string{"shop"})
	assert.Equal(t, 1, told, "whoever looks after it came knows that it is there")

	require.NoError(t, n.Delete(shop))
	require.NoError(t, n.Add(shop))
	assert.Equal(t, 3, told, "both wait for it")
}
