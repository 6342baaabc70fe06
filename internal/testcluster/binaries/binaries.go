package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Variable is the environment variable with the minor version of Kubernetes, such as 1.34, whose control plane
// Ensure builds from deploy/local/versions/1.34.mod. Unset: the version in deploy/local/go.mod.
const Variable = "HOLDFAST_KUBERNETES"

// Ensure builds the local control plane if it is missing or out of date, and logs its progress. Usually
// there is nothing to do, which takes a millisecond. It returns the path of the program.
func Ensure(ctx context.Context, log io.Writer) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	name, modules := "controlplane", "go.mod"
	if version := os.Getenv(Variable); version != "" {
		name, modules = name+"-"+version, filepath.Join("versions", version+".mod")
	}
	binary := filepath.Join(root, "bin", name)
	if current, err := isCurrent(binary, module(root)); current || err != nil {
		return binary, err
	}
	unlock, err := lock(filepath.Join(root, "bin"), log)
	if err != nil {
		return "", err
	}
	defer unlock()
	// Another process may have built it in the meantime.
	if current, err := isCurrent(binary, module(root)); current || err != nil {
		return binary, err
	}
	if err := buildControlPlane(ctx, module(root), modules, binary, log); err != nil {
		return "", fmt.Errorf("building bin/%s: %w", name, err)
	}
	return binary, nil
}

// lock prevents other processes from building until the returned function is called.
func lock(dir string, log io.Writer) (func(), error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		fmt.Fprintln(log, "waiting for another process, which builds the local control plane")
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil
}

func buildControlPlane(ctx context.Context, module, modules, binary string, log io.Writer) error {
	versions, err := versionFlags(filepath.Join(module, modules))
	if err != nil {
		return err
	}
	started := time.Now()
	next := binary + ".new"
	if err := compile(ctx, log, "bin/"+filepath.Base(binary), module, "-modfile="+modules, "-ldflags=-s -w"+versions, "-o", next, "."); err != nil {
		return err
	}
	// The binary gets the time at which the build started, because sources may have changed since then.
	if err := os.Chtimes(next, started, started); err != nil {
		return err
	}
	// Rename atomically, so that a running program keeps its file and no process sees a partial one.
	return os.Rename(next, binary)
}

// Product builds the programs of the product and of the demo into bin/.
func Product(ctx context.Context, log io.Writer, ldflags string) error {
	root, err := Root()
	if err != nil {
		return err
	}
	return compile(ctx, log, "bin/holdfast, bin/holdfast-controller and bin/demo", root,
		"-ldflags="+ldflags, "-o", filepath.Join(root, "bin")+"/", "./cmd/...", "./deploy/demo")
}
