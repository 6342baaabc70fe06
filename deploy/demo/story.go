package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// story is what the demo tells.
type story struct {
	*terminal
	cluster         *cluster
	startController func() (*child, error)
	controller      *child
}

// tell goes through the steps, and stops at the first that does not happen.
func (s *story) tell(ctx context.Context) error {
	for _, step := range []struct {
		title string
		tell  func(context.Context) error
	}{
		{"Install Holdfast", s.install},
		{"1. Submit an Application", s.submit},
		{"2. A held field is changed: it comes back", s.changeImage},
		{"3. A free field is changed: it stays", s.scale},
		{"4. A field that nobody wrote is changed: it comes back", s.changeAffinity},
		{"5. A sidecar is put before the held container: it stays", s.injectSidecar},
		{"6. The Application is suspended: what would be corrected is shown", s.suspend},
		{"7. What its status says", s.showStatus},
		{"8. The Application is deleted: everything it made goes", s.remove},
	} {
		s.heading(step.title)
		err := step.tell(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx) // rather than what it led to
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end stops the controller, if the story came that far.
func (s *story) end() {
	if s.controller != nil {
		s.controller.stop()
	}
}

// run shows a command, runs it and shows what it prints.
func (s *story) run(ctx context.Context, command string) error {
	_, status, err := s.show(ctx, command)
	if err == nil && status != 0 {
		return fmt.Errorf("the command has ended with exit status %d", status)
	}
	return err
}

// runTo is run for a command that may end with 1, which says that something differs. Its
// output is checked.
func (s *story) runTo(ctx context.Context, command string, check func(string) error) error {
	output, status, err := s.show(ctx, command)
	if err == nil && status > 1 {
		return fmt.Errorf("the command has ended with exit status %d", status)
	}
	return errors.Join(err, check(output))
}

// show runs a command and shows it. It returns what it printed, and its exit status.
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
	s.say(`The kind Application, a ServiceAccount that may edit this namespace (writes are
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
	s.say(`The example has a Deployment, a Service, and an observer schema that names the
fields to hold. Of the Deployment: the container's image and CPU limit. Of the
Service: selector, ports, and sessionAffinity, which the manifest does not set.
All the rest is free, the number of replicas for one.`)
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
