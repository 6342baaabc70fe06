package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Of 3.5 KB of texts that cannot be compressed, six bits of eight stay.
func TestWhatASpecTakesCompressed(t *testing.T) {
	const texts = 50 * textLength / 1024.0
	assert.InDelta(t, texts*6/8, compressedSpec(random), 0.5)
	assert.Less(t, compressedSpec(repetitive), compressedSpec(random)/2)
}
