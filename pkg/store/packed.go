package store

import (
	"math"

	"holdfast.dev/holdfast/internal/compress"
)

// Packed is the JSON of an object in memory: unchanged if it is short, otherwise a zstd frame. Objects are
// decompressed only while their Application is reconciled.
type Packed []byte

// minCompressedBytes is the length from which JSON is compressed.
const minCompressedBytes = 256

// Pack compresses JSON, or another text that starts with a brace. The result does not refer to the
// argument.
func Pack(json []byte) Packed {
	if len(json) < minCompressedBytes {
		return append(Packed(nil), json...)
	}
	return compress.Encode(json)
}

// JSON returns the uncompressed text. The caller must not change it.
func (p Packed) JSON() []byte {
	if len(p) == 0 || p[0] == '{' {
		return p // a frame starts with 0x28
	}
	raw, _ := compress.Decode(p, math.MaxInt32) // Pack creates only valid frames
	return raw
}
