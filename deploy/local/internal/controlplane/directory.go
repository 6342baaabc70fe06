package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// directory contains the files of one control plane.
type directory string

func (d directory) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

func (d directory) kubeconfig() string          { return d.path("kubeconfig") }
func (d directory) log(component string) string { return d.path(component + ".log") }
func (d directory) pid(component string) string { return d.path(component + ".pid") }
func (d directory) write(name, text string) error {
	return os.WriteFile(d.path(name), []byte(text), 0o600)
}

// writeJSON replaces the file atomically, because other processes can read it at any time.
func (d directory) writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", name, err)
	}
	if err := d.write(name+".new", string(text)); err != nil {
		return err
	}
	return os.Rename(d.path(name+".new"), d.path(name))
}

func (d directory) readJSON(name string, value any) error {
	text, err := os.ReadFile(d.path(name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("decoding %s: %w", d.path(name), err)
	}
	return nil
}

// clean removes files of an earlier run: the pid file of a killed supervisor could name another process
// now, and old logs would be mixed with new ones.
func (d directory) clean() {
	for _, name := range []string{Etcd, APIServer, ControllerManager, Scheduler, Node} {
		_ = os.Remove(d.pid(name))
		_ = os.Remove(d.log(name))
	}
}

// errLocked is returned if another supervisor uses the directory.
var errLocked = errors.New("the directory belongs to a running control plane")

// lock locks the directory until the file is closed. The kernel closes it with the process, so, unlike a
// pid file, the lock is always correct after a crash.
func (d directory) lock() (*os.File, error) {
	file, err := os.OpenFile(d.path("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("locking %s: %w", d.path("lock"), err)
}

// running reports whether a supervisor uses the directory.
func (d directory) running() (bool, error) {
	if _, err := os.Stat(d.path("lock")); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	file, err := d.lock()
	if errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}

// tail returns the last lines of a component's log, indented, for an error message.
func (d directory) tail(component string, lines int) string {
	const enough = 16 << 10
	file, err := os.Open(d.log(component))
	if err != nil {
		return "  (" + err.Error() + ")"
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > enough {
		_, _ = file.Seek(-enough, 2)
	}
	text := make([]byte, enough)
	n, _ := file.Read(text)
	all := strings.Split(strings.TrimRight(string(text[:n]), "\n"), "\n")
	all = all[max(0, len(all)-lines):]
	return "  " + strings.Join(all, "\n  ")
}
