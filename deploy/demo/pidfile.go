package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// errRunning says that a controller has the lock.
var errRunning = errors.New("a controller is running")

// lockController opens controller.pid and locks it. The controller inherits the lock,
// so that a pid of a process that has nothing to do with us is never taken for it.
func lockController(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "controller.pid"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, file.Truncate(0)
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errRunning
	}
	return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
}

// stopController ends the controller of the directory, if one runs, and returns when
// it has ended.
func stopController(ctx context.Context, dir string) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		ended, err := signalController(dir, signal)
		if ended || err != nil {
			return err
		}
		err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			lock, err := lockController(dir)
			if errors.Is(err, errRunning) {
				return false, nil
			}
			if err == nil {
				_ = lock.Close()
			}
			return true, err
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return errors.New("it does not end")
}

// signalController sends a signal to the controller, or says that none runs.
func signalController(dir string, signal syscall.Signal) (ended bool, err error) {
	lock, err := lockController(dir)
	if err == nil {
		return true, lock.Close()
	}
	if !errors.Is(err, errRunning) {
		return false, err
	}
	file, err := os.Open(filepath.Join(dir, "controller.pid"))
	if err != nil {
		return false, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return false, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return false, fmt.Errorf("%s has no pid: %w", file.Name(), err)
	}
	return false, syscall.Kill(pid, signal)
}
