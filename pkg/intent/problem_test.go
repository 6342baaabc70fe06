package intent_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/intent"
)

func TestSentencesAreJoined(t *testing.T) {
	assert.Equal(t, "a is missing", intent.JoinSentences("a is missing", ""))
	assert.Equal(t, "a is missing. Create it. Wait", intent.JoinSentences("a is missing", "Create it", "Wait"))
	assert.Equal(t, "did you mean a? Correct it", intent.JoinSentences("did you mean a?", "Correct it"))
}
