package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running controller.
type process struct {
	cmd   *exec.Cmd
	ready time.Duration // from start to the first complete list
}

// start runs the controller and returns when it holds Applications.
func (b *bench) start(ctx context.Context) (*process, error) { return b.startAs(ctx, b.controller) }

// startAs starts another binary, or with additional flags.
func (b *bench) startAs(ctx context.Context, binary string, args ...string) (*process, error) {
	flags := []string{"--kubeconfig", b.cluster.Kubeconfig(), "--leader-elect=false", "--metrics-bind-address=0", "--callback-bind-address=0"}
	cmd := exec.Command(binary, append(flags, args...)...) // if a flag is repeated, the last one wins
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w: run `make build` first", err)
	}
	holding := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Holding Applications") {
				close(holding)
				break
			}
		}
		_, _ = io.Copy(io.Discard, log)
	}()
	select {
	case <-holding:
		return &process{cmd: cmd, ready: time.Since(begun)}, nil
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		return nil, fmt.Errorf("the controller is not ready: %w", errSlow)
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		return nil, ctx.Err()
	}
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// memory returns the resident set in KiB.
func (p *process) memory() (int, error) { return p.status("VmRSS:") }

// peak returns the peak of the resident set in KiB.
func (p *process) peak() (int, error) { return p.status("VmHWM:") }

func (p *process) status(field string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			return strconv.Atoi(strings.Fields(rest)[0])
		}
	}
	return 0, fmt.Errorf("no %s", field)
}

// cpu returns the CPU time used so far, with a resolution of 10 ms.
func (p *process) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, err
}

// ensureRunning starts the controller for a run that skips the first rows.
func (b *bench) ensureRunning(ctx context.Context) (err error) {
	if b.process == nil && b.only != "" {
		b.process, err = b.start(ctx)
	}
	return err
}
