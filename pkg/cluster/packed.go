package cluster

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Packed is the JSON of an object in memory: unchanged if it is short, otherwise a zstd frame. Objects are
// decompressed only while their Application is reconciled.
type Packed []byte

// minCompressedBytes is the length from which JSON is compressed.
const minCompressedBytes = 256

// compressionWindowBytes is the distance in which repetitions are found. An encoder keeps a buffer of this
// size.
const compressionWindowBytes = 512 << 10

// encoder and decoder are created on first use. Both can be used concurrently.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(compressionWindowBytes))
		if err != nil {
			panic(err) // invalid options
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// Pack compresses JSON, or another text that starts with a brace. The result does not refer to the
// argument.
func Pack(json []byte) Packed {
	if len(json) < minCompressedBytes {
		return append(Packed(nil), json...)
	}
	frame := encoder().EncodeAll(json, make([]byte, 0, len(json)/2))
	return append(make(Packed, 0, len(frame)), frame...)
}

// JSON returns the uncompressed text. The caller must not change it.
func (p Packed) JSON() []byte {
	if len(p) == 0 || p[0] == '{' {
		return p // a frame starts with 0x28
	}
	raw, err := decoder().DecodeAll(p, nil)
	if err != nil {
		return nil // Pack creates only valid frames
	}
	return raw
}
