package binaries

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// progress parses the output of `go build -v`, which prints a line for each package that it compiles, and
// periodically reports the remaining work.
type progress struct {
	log     io.Writer
	what    string
	started time.Time
	done    chan struct{}

	mu   sync.Mutex
	left work
	// total and compiled are in units of work
	total, compiled int64
	line            []byte
}

// patience is the time after which a build reports its progress.
const patience = 5 * time.Second

func startProgress(log io.Writer, what string, left work) *progress {
	p := &progress{log: log, what: what, left: left, started: time.Now(), done: make(chan struct{})}
	for _, size := range left {
		p.total += size
	}
	go p.report(len(left))
	return p
}

// report starts periodic reports for a build that takes long.
func (p *progress) report(packages int) {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for said := 0; ; said++ {
		select {
		case <-tick.C:
			if said == 0 {
				fmt.Fprintf(p.log, "building %s: %d packages are not in the build cache\n", p.what, packages)
				tick.Reset(3 * patience)
				continue
			}
			fmt.Fprintln(p.log, "  "+p.String())
		case <-p.done:
			if said > 0 {
				fmt.Fprintf(p.log, "  built in %v\n", time.Since(p.started).Round(time.Second))
			}
			close(p.done)
			return
		}
	}
}

// String returns the progress of the build.
func (p *progress) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return remaining(p.compiled, p.total, time.Since(p.started))
}

// remaining returns the estimated remaining time at a constant speed.
func remaining(compiled, total int64, elapsed time.Duration) string {
	if total == 0 || compiled >= total {
		return "linking"
	}
	percent := fmt.Sprintf("%d %%", 100*compiled/total)
	if compiled == 0 {
		return percent
	}
	left := time.Duration(float64(elapsed) / float64(compiled) * float64(total-compiled))
	if left < time.Minute {
		return percent + ", less than a minute left"
	}
	return fmt.Sprintf("%s, about %d min left", percent, (left+30*time.Second)/time.Minute)
}

// Write handles output of the go command, in chunks of any size.
func (p *progress) Write(output []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line = append(p.line, output...)
	for {
		line, rest, found := bytes.Cut(p.line, []byte("\n"))
		if !found {
			return len(output), nil
		}
		p.compiled += p.left[string(line)]
		delete(p.left, string(line))
		p.line = rest
	}
}

// stop ends the reports.
func (p *progress) stop() {
	p.done <- struct{}{}
	<-p.done
}
