package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Compression leaves six of eight bits of 3.5 KB of random base64 text.
func TestCompressedSpecSize(t *testing.T) {
	const texts = 50 * textLength / 1024.0
	assert.InDelta(t, texts*6/8, compressedSpec(random), 0.5)
	assert.Less(t, compressedSpec(repetitive), compressedSpec(random)/2)
}
