package cluster

import (
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Packed is the JSON of an object as a store keeps it: as it is if it is short,
// otherwise a frame of zstd. An object is read when its Application takes a turn, and lies
// in memory all the rest of the time.
type Packed []byte

// shortest is the length in bytes from which on JSON is compressed.
const shortest = 256

// window is how far back in bytes a repetition is found, and what an encoder keeps of it.
const window = 512 << 10

// encoder and decoder are made when the first object is there. Both may be used by many at
// a time.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false),
			zstd.WithWindowSize(window))
		if err != nil {
			panic(err) // options that are wrong
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

// Pack keeps nothing of the JSON that it is given, or of another text that begins with a brace.
func Pack(json []byte) Packed {
	if len(json) < shortest {
		return append(Packed(nil), json...)
	}
	frame := encoder().EncodeAll(json, make([]byte, 0, len(json)/2))
	return append(make(Packed, 0, len(frame)), frame...)
}

// JSON is what was packed. The caller must not change it.
func (p Packed) JSON() []byte {
	if len(p) == 0 || p[0] == '{' {
		return p // a frame begins with 0x28
	}
	raw, err := decoder().DecodeAll(p, nil)
	if err != nil {
		return nil // it was packed by us
	}
	return raw
}
