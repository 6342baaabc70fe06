package compress_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/compress"
)

// noise returns text that compression does not make much smaller.
func noise(n int) []byte {
	source, text := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range text {
		text[i] = byte('a' + source.IntN(26))
	}
	return text
}

func TestTextsAreReadAsWritten(t *testing.T) {
	for _, n := range []int{0, 1, 255, 128 << 10, 128<<10 + 1, 3 << 20} {
		text, err := compress.Decode(compress.Encode(noise(n)), n)
		require.NoError(t, err, n)
		assert.True(t, bytes.Equal(noise(n), text), n)
	}
}

// TestALongTextKeepsItsPrefix changes the end of a text. The slices of a record are parts of its frame, and those that
// do not change are not written.
func TestALongTextKeepsItsPrefix(t *testing.T) {
	text := noise(1 << 20)
	before, after := compress.Encode(text), compress.Encode(append(text, "more"...))
	assert.True(t, bytes.Equal(before[:len(before)/2], after[:len(before)/2]))
	assert.Equal(t, before, compress.Encode(text))
}

func TestInvalidFrames(t *testing.T) {
	long := compress.Encode(noise(1000))
	for _, frame := range []string{"text", string(long[:20])} {
		_, err := compress.Decode([]byte(frame), 1000)
		require.Error(t, err, "%q", frame)
	}
	_, err := compress.Decode(long, 999)
	require.Error(t, err, "it is too long")
}
