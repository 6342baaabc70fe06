package profiles

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/manifest"
)

func TestObjectsAreKeptForAutoscalersOnly(t *testing.T) {
	objects := []manifest.ID{{Kind: "ConfigMap", Name: "a"}, {Group: "apps", Kind: "Deployment", Name: "b"}, {Kind: "ConfigMap", Name: "c"}}
	p := New(nil, nil, nil, nil)
	p.settled = true
	_, err := p.For("app", objects)
	require.NoError(t, err)
	assert.Len(t, p.wanted["app"].kinds, 2)
	assert.Empty(t, p.wanted["app"].objects)

	p.autoscalers = &autoscalers{listed: true}
	_, err = p.For("app", objects)
	require.NoError(t, err)
	assert.Equal(t, objects, p.wanted["app"].objects)

	p.Forget("app")
	assert.Equal(t, map[types.UID]interest{}, p.wanted)
}

// A controller with some of the Applications reports no count, also none from before the selection changed.
func TestACountEndsWithTheSelectionOfAll(t *testing.T) {
	p := New(nil, nil, time.Now, func([]types.UID) {})
	p.counts.sum = map[string]int32{"autoscaled": 3}
	p.Select(cluster.Selection{})
	assert.NotNil(t, p.counts.sum)
	p.Select(cluster.Selection{Namespaces: []string{"shop"}})
	assert.Nil(t, p.counts.sum)
}
