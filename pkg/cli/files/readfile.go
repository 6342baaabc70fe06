package files

import (
	"context"
	"io"
	"math"
	"os"
)

// ReadFile reads what open opens. The end of ctx ends it, also where that is a pipe
// that nobody writes to: even opening one takes until one does.
func ReadFile(ctx context.Context, open func() (*os.File, error)) ([]byte, error) {
	return ReadUpTo(ctx, math.MaxInt64-1, open)
}

// ReadUpTo is ReadFile with a limit. Of what is larger it returns one byte more
// than the limit: whoever reads it on refuses it.
func ReadUpTo(ctx context.Context, most int64, open func() (*os.File, error)) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		file, err := open()
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, most+1))
		done <- result{data, err}
	}()
	select {
	case read := <-done:
		return read.data, read.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Opening opens a file by its name.
func Opening(name string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.Open(name) }
}
