// Package compress compresses JSON: the records in statuses, slices and annotations, and the objects in memory.
package compress

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// windowBytes is the distance in which repetitions are found. An encoder keeps a buffer of this size.
const windowBytes = 512 << 10

// maxDecoded limits the memory for one text, so that a hostile frame cannot exhaust it. It is more than the longest
// record.
const maxDecoded = 48 << 20

// ErrTooLong is the error for a text that is longer than its limit.
var ErrTooLong = errors.New("the text is too long")

// encoder and decoder are created on first use. Both can be used concurrently.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder { return newEncoder(2) })
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(maxDecoded))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// streams has encoders for long texts.
var streams = sync.Pool{New: func() any { return newEncoder(1) }}

func newEncoder(concurrency int) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(concurrency), zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false), zstd.WithWindowSize(windowBytes))
	if err != nil {
		panic(err) // invalid options
	}
	return e
}

// blockBytes is the length of the blocks of a frame, which are compressed one after the other.
const blockBytes = 128 << 10

// Encode returns a text as a zstd frame. The result does not refer to the argument. The frame of a long text does not
// begin with its length. So a change of the text does not change the frame up to the block before it, and the first
// slices of a large record stay the same.
func Encode(text []byte) []byte {
	if len(text) <= blockBytes {
		frame := encoder().EncodeAll(text, make([]byte, 0, len(text)/2))
		return append(make([]byte, 0, len(frame)), frame...) // without spare capacity
	}
	var frame bytes.Buffer
	e := streams.Get().(*zstd.Encoder)
	defer streams.Put(e)
	e.Reset(&frame)
	_, _ = e.Write(text) // writing to a buffer never fails
	_ = e.Close()
	e.Reset(nil) // the pool does not keep the frame
	return append(make([]byte, 0, frame.Len()), frame.Bytes()...)
}

// Decode returns the text of a frame of Encode. It returns ErrTooLong if the text is longer than limit.
func Decode(frame []byte, limit int) ([]byte, error) {
	text, err := decoder().DecodeAll(frame, nil)
	if err == nil && len(text) > limit || errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = ErrTooLong
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return text, nil
}
