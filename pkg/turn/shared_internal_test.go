package turn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
)

// What nobody holds is left to an older Application for a while, and not for ever.
func TestToYieldHasAnEnd(t *testing.T) {
	id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "theirs"}
	app := &v1alpha1.Application{}
	m, now, others := &State{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), []string{"default/older"}
	yields := func(after time.Duration, uid string) bool {
		now = now.Add(after)
		s := &Snapshot{memory: m, shared: map[manifest.ID]bool{id: true}}
		s.Input.Application, s.Input.Now = app, now
		s.Input.Live = map[manifest.ID]map[string]any{id: {"metadata": map[string]any{"uid": uid, "resourceVersion": "7"}}}
		s.addOlder(Request{Older: func(asked manifest.ID, version string) []string {
			assert.Equal(t, id, asked)
			assert.Equal(t, "7", version)
			return others
		}})
		return len(s.Input.Precedence[id]) > 0
	}
	assert.True(t, yields(0, "u-1"))
	assert.True(t, yields(longestYield-1, "u-1"))
	assert.False(t, yields(1, "u-1"), "it has looked, or cannot")
	assert.False(t, yields(time.Hour, "u-1"))
	assert.True(t, yields(0, "u-2"), "another object")
	assert.False(t, yields(longestYield, "u-2"))
	app.Generation++
	assert.True(t, yields(0, "u-2"), "another spec")
	others = nil
	assert.False(t, yields(0, "u-2"), "it has looked")
	assert.Empty(t, m.yields, "nothing is kept of it")
}
