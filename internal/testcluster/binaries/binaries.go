package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Paths are those of the programs.
type Paths struct {
	Controlplane string
	// Kwok is empty if it was not asked for.
	Kwok string
}

// Ensure builds what is missing or out of date, and tells what it does on the log;
// usually that is nothing, and takes a millisecond.
func Ensure(ctx context.Context, log io.Writer, withKwok bool) (Paths, error) {
	root, err := Root()
	if err != nil {
		return Paths{}, err
	}
	paths := Paths{Controlplane: controlplane.binary(root)}
	programs := []program{controlplane}
	if withKwok {
		paths.Kwok = kwok.binary(root)
		programs = append(programs, kwok)
	}
	for _, p := range programs {
		if err := p.ensure(ctx, root, log); err != nil {
			return Paths{}, fmt.Errorf("building %s: %w", p.name, err)
		}
	}
	return paths, nil
}

func (p program) ensure(ctx context.Context, root string, log io.Writer) error {
	if current, err := p.current(root); current || err != nil {
		return err
	}
	unlock, err := lock(filepath.Join(root, "bin"), log)
	if err != nil {
		return err
	}
	defer unlock()
	// Someone else may have built it while we waited.
	if current, err := p.current(root); current || err != nil {
		return err
	}
	return p.build(ctx, root, log)
}

// lock keeps other processes from building until the returned function is called.
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

// build runs the go command in the program's module.
func (p program) build(ctx context.Context, root string, log io.Writer) error {
	module := filepath.Join(root, p.module)
	versions, err := p.ldflags(module)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "building bin/%s, once: minutes, unless the build cache has it (%d CPUs)\n", p.name, runtime.NumCPU())
	total, err := packages(ctx, module)
	if err != nil {
		return err
	}
	started := time.Now()
	progress := startProgress(log, p.name, total)
	defer progress.stop()
	next := p.binary(root) + ".new"
	var output bytes.Buffer
	cmd := command(ctx, module, "build", "-v", "-trimpath", "-ldflags=-s -w"+versions, "-o", next, ".")
	cmd.Stderr = io.MultiWriter(progress, &output)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", p.module, err, lastLines(output.String(), 20))
	}
	// As old as the sources that it was made of: some may have changed meanwhile.
	if err := os.Chtimes(next, started, started); err != nil {
		return err
	}
	// In one step, so that a running program keeps its file and no one finds half of one.
	return os.Rename(next, p.binary(root))
}

// packages counts what a build from nothing compiles. It downloads what is missing.
func packages(ctx context.Context, module string) (int, error) {
	cmd := command(ctx, module, "list", "-deps", ".")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	list, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go list: %w\n%s", err, lastLines(problems.String(), 20))
	}
	return bytes.Count(list, []byte("\n")), nil
}

func command(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", module}, args...)...)
	// The same program on every machine: with or without a C compiler, within a
	// workspace or not.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
