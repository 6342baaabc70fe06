package profiles

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

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
