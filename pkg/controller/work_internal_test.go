package controller

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
)

// What fails at one moment for many does not come back at one moment.
func TestRetriesAreSpread(t *testing.T) {
	const wait = 50 * time.Millisecond
	queued, seen := limiter(), map[time.Duration]bool{}
	for i := range 100 {
		retried := queued.When(types.NamespacedName{Name: strconv.Itoa(i)})
		assert.GreaterOrEqual(t, retried, wait)
		assert.LessOrEqual(t, retried, wait+wait/10)
		seen[retried] = true
	}
	assert.Greater(t, len(seen), 50)
}
