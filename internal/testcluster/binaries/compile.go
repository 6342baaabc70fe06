package binaries

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compile runs `go build` in a module, and reports the progress if it takes long.
func compile(ctx context.Context, log io.Writer, what, module string, args ...string) error {
	work, err := toCompile(ctx, log, module, args)
	if err != nil {
		return err
	}
	progress := startProgress(log, what, work)
	defer progress.stop()
	var output bytes.Buffer
	cmd := command(ctx, module, append([]string{"build", "-v", "-trimpath"}, args...)...)
	cmd.Stderr = io.MultiWriter(progress, &output)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", module, err, lastLines(output.String(), 20))
	}
	return nil
}

// work maps each package to compile to its approximate amount of work.
type work map[string]int64

// atLeast is the amount of work of an almost empty package.
const atLeast = 5000

// toCompile returns the packages of a build that are not in the build cache. It downloads missing modules, and
// reports the progress if that takes long.
func toCompile(ctx context.Context, log io.Writer, module string, args []string) (work, error) {
	var selected []string // the packages, and the versions of their modules
	for _, arg := range args {
		if strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "-modfile=") {
			selected = append(selected, arg)
		}
	}
	const each = `{{if .Stale}}{{.ImportPath}} {{.Dir}}{{range .GoFiles}} {{.}}{{end}}{{end}}`
	cmd := command(ctx, module, append([]string{"list", "-deps", "-trimpath", "-f", each}, selected...)...)
	var problems bytes.Buffer
	cmd.Stderr = io.MultiWriter(&problems, newDownloads(log, module, args))
	list, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, lastLines(problems.String(), 20))
	}
	all := work{}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		all[fields[0]] = atLeast
		for _, file := range fields[2:] {
			if info, err := os.Stat(filepath.Join(fields[1], file)); err == nil {
				all[fields[0]] += info.Size()
			}
		}
	}
	return all, nil
}

func command(ctx context.Context, module string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", append([]string{"-C", module}, args...)...)
	// The result must be the same on every machine: with or without a C compiler, and inside or outside of
	// a workspace.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	return cmd
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
