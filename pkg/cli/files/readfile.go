package files

import (
	"context"
	"io"
	"math"
	"os"
)

// ReadFile reads the file that open opens. It returns when ctx ends, even if the file is a pipe without a
// writer: opening such a pipe blocks until a writer opens it.
func ReadFile(ctx context.Context, open func() (*os.File, error)) ([]byte, error) {
	return ReadUpTo(ctx, math.MaxInt64-1, open)
}

// ReadUpTo reads a file like ReadFile, with a limit in bytes. If the file is larger, it returns one byte more than
// the limit, so that the caller can reject the data. After ctx ends, a goroutine can remain until open returns.
// Process substitution of a shell, <(command), is such a pipe. A regular file can also block on a network file
// system.
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

// Opening returns a function that opens a file by its name.
func Opening(name string) func() (*os.File, error) {
	return func() (*os.File, error) { return os.Open(name) }
}
