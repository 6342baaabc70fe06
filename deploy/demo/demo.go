package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// demo runs the demo on a control plane that is always removed before it returns.
func demo(ctx context.Context, c checkout, t *terminal) error {
	if err := c.built(); err != nil {
		return err
	}
	t.print(introduction)
	started := time.Now()
	checks, err := show(ctx, c, t)
	if err != nil {
		return err
	}
	t.heading(fmt.Sprintf("Everything happened as it should: %d checks, %s", checks, rounded(time.Since(started))))
	t.print(farewell)
	return nil
}

const introduction = `Holdfast holds exactly the fields you name, on any Kubernetes object, and
leaves everything else alone.

This demo runs on a real control plane that it starts and removes
afterwards: etcd, kube-apiserver, kube-scheduler, and the controllers that it
needs. Only the node is simulated: Pods become ready there and run nothing. The
demo runs the commands that it shows, with "bin/controlplane kubectl" as kubectl,
and shows their output.`

const farewell = `The control plane and its files are removed. "make up" starts one to play
with; the Application was examples/echo-demo.yaml.`

// show starts a control plane, runs the story, and removes the control plane. It returns the number of
// passed checks.
func show(ctx context.Context, c checkout, t *terminal) (checks int, err error) {
	base, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(base)) }()
	childrenAlive, fail := context.WithCancelCause(ctx)
	defer fail(nil)

	started := time.Now()
	dir := filepath.Join(base, "cluster")
	plane, err := c.startControlPlane(childrenAlive, dir, fail)
	if err != nil {
		return 0, err
	}
	defer plane.stop()
	cluster, err := c.connect(dir)
	if err != nil {
		return 0, err
	}
	t.ok("the control plane is ready, after %s", rounded(time.Since(started)))

	log, err := os.Create(filepath.Join(base, "controller.log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	s := &story{terminal: t, cluster: cluster, startController: func() (*child, error) {
		command, err := cluster.controllerCommand(ctx, log, "--leader-elect=false")
		if err != nil {
			return nil, err
		}
		return startChild(command, fail)
	}}
	defer s.end()
	if err := s.runSteps(childrenAlive); err != nil {
		return 0, s.explain(ctx, err, log.Name())
	}
	return t.checks, nil
}

// explain prints why the story has failed, unless the user has interrupted it.
func (s *story) explain(ctx context.Context, err error, logFile string) error {
	if ctx.Err() != nil {
		return err
	}
	s.failed(err)
	if applications, err := s.cluster.shell(ctx, "kubectl get hfapp -o wide"); err == nil {
		s.print("The status of the Application:")
		s.output(applications)
	}
	s.print("The last lines of the controller's log:")
	s.output(tail(logFile, 15))
	return errShown
}

func rounded(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
