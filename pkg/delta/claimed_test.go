package delta_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
)

func TestAnObjectWithoutClaimedFields(t *testing.T) {
	live := func(ports string) map[string]any {
		content, err := manifest.DecodeJSON([]byte(`{"spec": {"ports": [` + ports + `], "loadBalancerSourceRanges": ["a", "b"]}}`))
		require.NoError(t, err)
		return content
	}
	const ours, theirs = `{"port": 80, "protocol": "TCP", "name": "a"}`, `{"port": 81, "protocol": "TCP", "name": "b", "nodePort": 30001}`
	service := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
	object := live(ours + ", " + theirs)
	for _, row := range []struct {
		name    string
		claimed []string
		want    map[string]any
	}{
		{"none", nil, live(ours + ", " + theirs)},
		{"a field", []string{"/spec/ports/1/nodePort"}, live(ours + `, {"port": 81, "protocol": "TCP", "name": "b"}`)},
		{"all fields but the keys", []string{"/spec/ports/1/nodePort", "/spec/ports/1/name"}, live(ours)},
		{"an element that only its position identifies", []string{"/spec/loadBalancerSourceRanges/0"}, live(ours + ", " + theirs)},
	} {
		assert.Equal(t, row.want, delta.WithoutClaimed(service, object, row.claimed), row.name)
	}
	assert.Equal(t, live(ours+", "+theirs), object)
}
