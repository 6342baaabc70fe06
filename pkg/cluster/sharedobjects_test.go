package cluster

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// TestManySharedObjectsHaveOneWatch counts the objects that several Applications share in a namespace.
func TestManySharedObjectsHaveOneWatch(t *testing.T) {
	w := newWatches(nil, eventClient{}, nil, StallTimeouts{})
	sharing := func(namespace string, n int) Named {
		named := Named{}
		for i := range n {
			named[configMaps] = append(named[configMaps], types.NamespacedName{Namespace: namespace, Name: strconv.Itoa(i)})
		}
		return named
	}
	watches := func(application types.UID) int {
		needs := map[watchScope]struct{}{}
		w.addNamed(needs, w.named[application])
		return len(needs)
	}
	w.setNamed("a", sharing("shop", maxSingleWatches))
	w.setNamed("b", sharing("shop", maxSingleWatches))
	w.setNamed("c", sharing("other", maxSingleWatches+1))
	assert.Equal(t, []int{maxSingleWatches, maxSingleWatches, 1}, []int{watches("a"), watches("b"), watches("c")})
	w.setNamed("b", sharing("shop", maxSingleWatches+1))
	assert.Equal(t, []int{1, 1}, []int{watches("a"), watches("b")})
	w.setNamed("b", nil)
	assert.Equal(t, maxSingleWatches, watches("a"))
	w.setNamed("a", nil)
	w.setNamed("c", nil)
	assert.Empty(t, w.shares)
	assert.Empty(t, w.named)
}
