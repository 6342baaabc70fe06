package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// playground returns the directory of the control plane of `up`.
func (c checkout) playground() string { return filepath.Join(c.root, ".holdfast") }

// up starts everything that is not running yet, and prints how to use it.
func up(ctx context.Context, c checkout, t *terminal) error {
	if err := c.built(); err != nil {
		return err
	}
	t.print("Starting what does not run yet, which takes some seconds.")
	dir := c.playground()
	exportLine, err := c.detachControlPlane(ctx, dir)
	if err != nil {
		return err
	}
	cluster, err := c.connect(dir)
	if err != nil {
		return err
	}
	if err := cluster.install(ctx); err != nil {
		return err
	}
	if err := cluster.ensureController(ctx); err != nil {
		return err
	}
	t.print(fmt.Sprintf(howToUse, exportLine, quoted(c.program(controlplaneProgram)), quoted(c.program(holdfastProgram))))
	return nil
}

const howToUse = `A control plane with Holdfast is running. Its files and logs are in .holdfast;
"make down" stops it and removes them. To use it:

  %s
  alias kubectl='%s kubectl'
  alias holdfast='%s'

and then, for example:

  kubectl apply --server-side -f examples/echo-demo.yaml
  kubectl wait --for=condition=Ready hfapp/echo-demo
  holdfast suspend echo-demo
  kubectl set image deploy/echo-demo echo=registry.k8s.io/echoserver:1.10

Three commands (bin/holdfast) that are worth a try now, before
"holdfast resume echo-demo" has the image corrected:

  holdfast diff echo-demo
  holdfast explain echo-demo deploy/echo-demo
  holdfast status echo-demo

Holdfast writes with the permissions of the ServiceAccount holdfast-applier, which
has the role "edit" in the namespace default; other namespaces need their own.

Claims get volumes without storage, so databases (docs/mysql.md) become
ready. Hooks work, too (docs/hooks.md). Pods are simulated here, so you have to
report their completion, with the Secret of an Application:

  secret() { kubectl get secret NAME-hooks \
    -o go-template="{{index .data \"$1\" | base64decode}}"; }
  secret ca.crt > ca.crt
  curl --cacert ca.crt -X PUT "$(secret complete-url)" \
    -H "Authorization: Bearer $(secret complete-token)"`

// detachControlPlane starts a control plane in the directory unless one is running, and returns the command
// that configures kubectl for it.
func (c checkout) detachControlPlane(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, c.program(controlplaneProgram), "up", dir, "--node", "--detach")
	// With SIGTERM, unlike SIGKILL, it also stops its own child.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("starting the control plane: %w", explained(err))
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1], nil
}

// explained adds the standard error of a command to its error.
func explained(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

// quoted quotes a path for use in a shell command within single quotes.
func quoted(path string) string {
	if strings.ContainsAny(path, ` '"$\&;()`) {
		return `"` + strings.ReplaceAll(path, `'`, `'\''`) + `"`
	}
	return path
}

// down stops everything that is running and removes its files.
func down(ctx context.Context, c checkout, t *terminal) error {
	dir := c.playground()
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.print("Nothing is running.")
		return nil
	}
	if err := stopController(ctx, dir); err != nil {
		return fmt.Errorf("stopping the controller: %w", err)
	}
	if _, err := os.Stat(c.program(controlplaneProgram)); err != nil {
		return errors.New("bin/controlplane is missing, and stops what it started: run `make controlplane`, then `make down` again")
	}
	if _, err := exec.CommandContext(ctx, c.program(controlplaneProgram), "down", dir).Output(); err != nil {
		return fmt.Errorf("stopping the control plane: %w", explained(err))
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	t.print("Stopped; .holdfast is removed.")
	return nil
}
