package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// errRunning is returned if a controller holds the lock.
var errRunning = errors.New("a controller is running")

// ensureController starts a controller that keeps running after the demo has ended. It replaces a running
// controller that is older than the program.
func (c *cluster) ensureController(ctx context.Context) error {
	if newer(c.program(controllerProgram), pidFile(c.dir)) {
		if err := stopController(ctx, c.dir); err != nil {
			return fmt.Errorf("stopping the controller: %w", err)
		}
	}
	lock, err := lockController(c.dir)
	if errors.Is(err, errRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := c.detachController(ctx, lock); err != nil {
		return fmt.Errorf("starting the controller: %w", err)
	}
	return nil
}

// detachController starts a controller, which inherits the lock and therefore holds it until it ends.
func (c *cluster) detachController(ctx context.Context, lock *os.File) error {
	log, err := os.Create(filepath.Join(c.dir, "controller.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, err := c.controllerCommand(ctx, log, "--leader-elect-resource-namespace=holdfast-system")
	if err != nil {
		return err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.ExtraFiles = []*os.File{lock}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := writePID(lock, cmd.Process.Pid); err != nil {
		_ = cmd.Process.Kill()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return fmt.Errorf("it has ended: %w\n%s", err, tail(log.Name(), 15))
	case <-time.After(time.Second): // errors at startup appear within that time
		return nil
	}
}

func newer(a, b string) bool {
	first, errFirst := os.Stat(a)
	second, errSecond := os.Stat(b)
	return errFirst == nil && errSecond == nil && first.ModTime().After(second.ModTime())
}

func pidFile(dir string) string { return filepath.Join(dir, "controller.pid") }

// lockController opens the pid file and locks it, unless a controller holds the lock. A stale pid, which
// can now belong to another process, has no effect.
func lockController(dir string) (*os.File, error) {
	file, err := os.OpenFile(pidFile(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errRunning
	}
	return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
}

func writePID(file *os.File, pid int) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(pid)+"\n"), 0)
	return err
}

// stopController stops the controller of the directory, if one is running, and returns when it has ended.
func stopController(ctx context.Context, dir string) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if ended, err := hasEnded(dir); ended || err != nil {
			return err
		}
		if err := signalController(dir, signal); err != nil {
			return err
		}
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 10*time.Second, true,
			func(context.Context) (bool, error) { return hasEnded(dir) })
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return errors.New("it does not end")
}

func hasEnded(dir string) (bool, error) {
	lock, err := lockController(dir)
	if errors.Is(err, errRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, lock.Close()
}

func signalController(dir string, signal syscall.Signal) error {
	text, err := os.ReadFile(pidFile(dir))
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s has no pid: %w", pidFile(dir), err)
	}
	return syscall.Kill(pid, signal)
}
