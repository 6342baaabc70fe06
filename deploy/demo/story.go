package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// story contains the steps of the demo.
type story struct {
	*terminal
	cluster         *cluster
	startController func() (*child, error)
	controller      *child
}

// runSteps runs the steps, and stops at the first failure.
func (s *story) runSteps(ctx context.Context) error {
	for _, step := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"Install Holdfast", s.install},
		{"1. Submit an Application", s.submit},
		{"2. A held field is changed: Holdfast corrects it", s.changeImage},
		{"3. A free field is changed: Holdfast keeps the change", s.scale},
		{"4. A learned field is changed: Holdfast corrects it", s.changeAffinity},
		{"5. A sidecar is inserted before the held container: Holdfast keeps it", s.injectSidecar},
		{"6. The Application is suspended: Holdfast reports drift", s.suspend},
		{"7. The status of the Application", s.showStatus},
		{"8. The Application is deleted with all its objects", s.remove},
	} {
		s.heading(step.title)
		err := step.tell(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // instead of its consequence
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end stops the controller if it was started.
func (s *story) end() {
	if s.controller != nil {
		s.controller.stop()
	}
}

// run prints a command, runs it, and prints its output.
func (s *story) run(ctx context.Context, command string) error {
	_, status, err := s.show(ctx, command)
	if err == nil && status != 0 {
		return fmt.Errorf("the command has ended with exit status %d", status)
	}
	return err
}

// runTo runs a command that can exit with 1, which means that there are differences. It checks the output.
func (s *story) runTo(ctx context.Context, command string, check func(string) error) error {
	output, status, err := s.show(ctx, command)
	if err == nil && status > 1 {
		return fmt.Errorf("the command has ended with exit status %d", status)
	}
	return errors.Join(err, check(output))
}

// show prints and runs a command. It returns its output and exit status.
func (s *story) show(ctx context.Context, command string) (output string, status int, err error) {
	s.command(command)
	output, err = s.cluster.shell(ctx, command)
	if output != "" {
		s.output(output)
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return output, exit.ExitCode(), nil
	}
	return output, 0, err
}

func (s *story) install(ctx context.Context) error {
	s.print(`The kind Application, a ServiceAccount that may edit this namespace (writes are
made with the rights of the Application's ServiceAccount, not with those of the
controller), and the controller.`)
	if err := s.run(ctx, applyCommand); err != nil {
		return err
	}
	if err := s.run(ctx, waitCommand); err != nil {
		return err
	}
	s.command("bin/holdfast-controller --kubeconfig=$KUBECONFIG &")
	var err error
	s.controller, err = s.startController()
	return err
}

const readyCommand = "kubectl wait --for=condition=Ready hfapp/echo-demo --timeout=30s"

func (s *story) submit(ctx context.Context) error {
	s.print(`The example has a Deployment, a Service, and an observer schema that names the
fields to hold: the container's image and CPU limit in the Deployment;
selector, ports and sessionAffinity in the Service. The manifest does not set
sessionAffinity.
All other fields are free, for example the number of replicas.`)
	if err := s.run(ctx, "kubectl apply --server-side -f examples/echo-demo.yaml"); err != nil {
		return err
	}
	submitted := time.Now()
	if err := s.run(ctx, readyCommand); err != nil {
		return err
	}
	took := time.Since(submitted)
	if err := s.run(ctx, "kubectl get hfapp,deploy,svc echo-demo"); err != nil {
		return err
	}
	s.ok("created and ready, %s after it was submitted", rounded(took))
	return nil
}
