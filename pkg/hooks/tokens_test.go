package hooks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/hooks"
)

func TestTokenIsValidForOnePurpose(t *testing.T) {
	token := strings.Repeat("a", 43)
	digests := []string{hooks.TokenDigest(hooks.Complete, "older"), hooks.TokenDigest(hooks.Complete, token)}
	assert.True(t, hooks.Accepts(digests, hooks.Complete, token))
	assert.True(t, hooks.Accepts(digests, hooks.Complete, "older"))
	assert.False(t, hooks.Accepts(digests, hooks.Shutdown, token))
	assert.False(t, hooks.Accepts(digests, hooks.Complete, token+"a"))
	assert.False(t, hooks.Accepts(digests, hooks.Complete, ""))
	assert.False(t, hooks.Accepts(nil, hooks.Complete, token))
	assert.False(t, hooks.Accepts([]string{hooks.TokenDigest(hooks.Complete, "")}, hooks.Complete, ""))
	assert.NotContains(t, digests[1], token)
}

func TestKeepTokensKeepsNewest(t *testing.T) {
	before := strings.Split("bcdefghijk", "")
	assert.Equal(t, strings.Split("abcdefghij", ""), hooks.KeepTokens(before, []string{"a"}))
	assert.Equal(t, before[:9], hooks.KeepTokens(before, nil))
	assert.Equal(t, before, hooks.KeepTokens(before, []string{"b"}))
	assert.Empty(t, hooks.KeepTokens(nil, nil))
	many := strings.Split("lmnopqrstuvw", "")
	assert.Equal(t, many, hooks.KeepTokens(nil, many), "those in the cluster are never forgotten")
	assert.Len(t, hooks.KeepTokens(before, many), len(many)+9, "and leave room for older ones")
}
