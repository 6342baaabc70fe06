package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// child is a process that runs until it is stopped.
type child struct {
	cmd      *exec.Cmd
	stopping atomic.Bool
	ended    chan struct{}
}

// startChild starts a process. died is called if it ends before it is stopped.
func startChild(cmd *exec.Cmd, died func(error)) (*child, error) {
	// A separate process group: an interrupt on the terminal reaches only the demo, so that it can stop the
	// children in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		if !c.stopping.Load() {
			died(fmt.Errorf("%s ended: %s", filepath.Base(cmd.Path), cmd.ProcessState))
		}
		close(c.ended)
	}()
	return c, nil
}

// stop terminates the process, and kills it after ten seconds.
func (c *child) stop() {
	c.stopping.Store(true)
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.ended
	}
}

// startControlPlane starts a control plane, which ends with the demo and removes its directory. It returns
// when the control plane is ready.
func (c checkout) startControlPlane(ctx context.Context, dir string, died func(error)) (*child, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.program(controlplaneProgram),
		"up", dir, "--node", "--remove", "--with-parent="+strconv.Itoa(os.Getpid()))
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	problems := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = writer, problems
	plane, err := startChild(cmd, died)
	_ = writer.Close()
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	if isReady(reader) {
		return plane, nil
	}
	plane.stop()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("the control plane did not start: %s", problems)
}

// isReady reads the output of the control plane up to its last line, the export line.
func isReady(output io.Reader) bool {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export ") {
			return true
		}
	}
	return false
}

// controllerCommand returns the command that runs the controller with its output in the log and
// these flags of leader election. Clients on this machine may call it back.
func (c *cluster) controllerCommand(ctx context.Context, log *os.File, election string) (*exec.Cmd, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.program(controllerProgram),
		"--kubeconfig="+c.kubeconfig(), election, "--metrics-bind-address=0",
		"--callback-bind-address="+address, "--callback-external-url=https://"+address, "--callback-namespace=kube-system")
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, nil
}

// freeAddress returns an unused address.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// tail returns the end of a file.
func tail(path string, lines int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
