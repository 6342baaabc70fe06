package controller

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNamespacesInMetricsAreBounded(t *testing.T) {
	all := map[string]int{}
	for i := range 150 {
		all[fmt.Sprint("ns-", i)] = i
	}
	few := largest(all)
	assert.Len(t, few, maxNamespaces+1)
	assert.Equal(t, 149, few["ns-149"])
	assert.Equal(t, 50, few["ns-50"])
	assert.Equal(t, 49*50/2, few[""], "those of 0 to 49")
	assert.Equal(t, map[string]int{"a": 1}, largest(map[string]int{"a": 1}))
}
