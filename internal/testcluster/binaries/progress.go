package binaries

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// progress counts the lines of `go build -v`, one for each package that is compiled,
// and says every so often how far it is.
type progress struct {
	lines atomic.Int64
	done  chan struct{}
}

func startProgress(log io.Writer, name string, total int) *progress {
	p := &progress{done: make(chan struct{})}
	started := time.Now()
	go func() {
		tick := time.NewTicker(15 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(log, "  %s: %d of at most %d packages, %v\n",
					name, p.lines.Load(), total, time.Since(started).Round(time.Second))
			case <-p.done:
				fmt.Fprintf(log, "  %s: %v\n", name, time.Since(started).Round(time.Second))
				return
			}
		}
	}()
	return p
}

// Write counts.
func (p *progress) Write(output []byte) (int, error) {
	p.lines.Add(int64(bytes.Count(output, []byte("\n"))))
	return len(output), nil
}

func (p *progress) stop() { p.done <- struct{}{} }
