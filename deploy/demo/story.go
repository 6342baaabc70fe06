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
		{"6. What the status says", s.showStatus},
		{"7. The Application is deleted: everything it made goes", s.remove},
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
	s.command(command)
	output, err := s.cluster.shell(ctx, command)
	if output != "" {
		s.output(output)
	}
	var exit interface{ ExitCode() int }
	if errors.As(err, &exit) {
		return fmt.Errorf("the command has ended with exit status %d", exit.ExitCode())
	}
	return err
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
