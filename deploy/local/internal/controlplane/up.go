package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Ready is the line that Up prints once the control plane can be used.
const Ready = "ready"

// Up runs a control plane until the context ends, Down is called on its directory, or its parent dies. If
// one is already running in the directory, Up prints its export line and returns.
func Up(ctx context.Context, o Options, out, errOut io.Writer) (err error) {
	o, err = o.complete()
	if err != nil {
		return err
	}
	if err := o.claim(); err != nil {
		return err
	}
	lock, err := directory(o.Dir).lock()
	if errors.Is(err, errLocked) {
		return join(ctx, directory(o.Dir), o.Timeout, out)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	if o.Remove {
		defer func() { err = errors.Join(err, os.RemoveAll(o.Dir)) }()
	}
	return run(ctx, o, out, errOut)
}

// claim creates the directory. A directory that will be removed must be empty.
func (o Options) claim() error {
	if o.Remove {
		entries, err := os.ReadDir(o.Dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf("%s is not empty, and would be removed", o.Dir)
		}
	}
	return os.MkdirAll(o.Dir, 0o700)
}

// run implements Up while the lock of the directory is held.
func run(ctx context.Context, o Options, out, errOut io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if o.ParentPID != 0 {
		go func() {
			<-orphaned(ctx, o.ParentPID)
			cancel()
		}()
	}
	s, err := newSupervisor(o, errOut)
	if err != nil {
		return err
	}
	defer s.stop()
	control, err := s.serveControl(cancel)
	if err != nil {
		return err
	}
	defer control.Close()
	if err := s.start(ctx); err != nil {
		return err
	}
	s.ready.Store(true)
	announce(out, Ready, s.dir)
	<-ctx.Done()
	return nil
}

// join waits until the running control plane of the directory is ready.
func join(ctx context.Context, dir directory, timeout time.Duration, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := poll(ctx, func() error { return dir.command(ctx, "GET", "/ready") }); err != nil {
		return fmt.Errorf("a control plane has %s, and is not ready: %w", dir, err)
	}
	announce(out, "already running", dir)
	return nil
}

func announce(out io.Writer, how string, dir directory) {
	fmt.Fprintf(out, "%s\n%s\n", how, ExportLine(string(dir)))
}

// ExportLine returns the shell command that configures kubectl for the control plane of the directory.
func ExportLine(dir string) string {
	path := directory(dir).kubeconfig()
	if strings.ContainsFunc(path, needsQuotes) {
		path = "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return "export KUBECONFIG=" + path
}

func needsQuotes(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+", r)
}

func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
