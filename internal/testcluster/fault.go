package testcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Names of the components.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Node              = "node"
)

// PID returns the process ID of a running component.
func (c *Cluster) PID(component string) (int, error) {
	text, err := os.ReadFile(c.pidFile(component))
	if err != nil {
		return 0, fmt.Errorf("%s does not run: %w", component, err)
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

func (c *Cluster) pidFile(component string) string { return filepath.Join(c.dir, component+".pid") }

// Kill kills the component and returns when it is gone. It stays down until Restart.
func (c *Cluster) Kill(component string) error {
	if err := c.signal(component, syscall.SIGKILL); err != nil {
		return err
	}
	// The supervisor removes the file after it has reaped the process.
	gone := func(context.Context) (bool, error) {
		_, err := os.Stat(c.pidFile(component))
		return errors.Is(err, os.ErrNotExist), nil
	}
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, time.Minute, true, gone)
	if err != nil {
		return fmt.Errorf("waiting for the end of %s: %w", component, err)
	}
	return nil
}

// Pause stops the component with SIGSTOP: it keeps its connections and does not respond. Pause returns when
// all threads have stopped, if /proc is available.
func (c *Cluster) Pause(component string) error {
	if err := c.signal(component, syscall.SIGSTOP); err != nil {
		return err
	}
	pid, err := c.PID(component)
	if err != nil {
		return err
	}
	for range 10_000 {
		if stopped(pid) {
			return nil
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // nothing tells when a process has stopped
	}
	return fmt.Errorf("%s does not stop", component)
}

// stopped reports whether all threads of a process are stopped. Without /proc it returns true.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, file := range threads {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// The name in parentheses can contain spaces.
		_, state, _ := strings.Cut(string(raw[bytes.LastIndexByte(raw, ')')+1:]), " ")
		if !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Resume resumes a paused component.
func (c *Cluster) Resume(component string) error { return c.signal(component, syscall.SIGCONT) }

func (c *Cluster) signal(component string, signal syscall.Signal) error {
	c.disturbed.Store(true)
	pid, err := c.PID(component)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return fmt.Errorf("sending %v to %s: %w", signal, component, err)
	}
	return nil
}

// Restart starts the component again, on the same port and with the same data, and returns when it is
// ready. A running or paused component is killed first.
func (c *Cluster) Restart(component string) error {
	c.disturbed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.binary, "restart", c.dir, component)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("restarting %s: %w: %s", component, err, strings.TrimSpace(problems.String()))
	}
	return nil
}
