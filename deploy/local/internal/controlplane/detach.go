package controlplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Detach runs this program again in a new session with the given arguments of an Up on the
// directory. It forwards the output until the control plane is ready, and then leaves it running.
func Detach(ctx context.Context, path string, args []string, out io.Writer) error {
	dir := directory(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	log, err := os.Create(dir.log("up"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(executable, args...)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the supervisor: %w", err)
	}
	// An interrupt reaches only this process, because the child has its own session.
	undo := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer undo()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		fmt.Fprintln(out, lines.Text())
		if strings.HasPrefix(lines.Text(), "export ") {
			return nil
		}
	}
	err = cmd.Wait()
	return fmt.Errorf("the control plane did not start: %w\n%s", err, dir.tail("up", 15))
}
