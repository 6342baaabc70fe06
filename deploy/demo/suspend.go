package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func (s *story) suspend(ctx context.Context) error {
	s.print(`While an Application is suspended nothing is corrected, so there is time to see
what would be.`)
	if err := s.run(ctx, "bin/holdfast suspend echo-demo"); err != nil {
		return err
	}
	if err := s.until(ctx, isSuspended); err != nil {
		return err
	}
	if err := s.run(ctx, "kubectl set image deploy/echo-demo echo="+otherImage); err != nil {
		return err
	}
	// Both exit with status 1, which scripts can use.
	for _, look := range []struct{ why, command string }{
		{"What differs:", "bin/holdfast diff echo-demo"},
		{"The writer of the field, and the held fields next to it:", "bin/holdfast explain echo-demo deploy/echo-demo spec.template.spec.containers.image"},
		{"And what to do:", "bin/holdfast status echo-demo"},
	} {
		s.print(look.why)
		if err := s.runTo(ctx, look.command, saysDrift); err != nil {
			return err
		}
	}
	took, err := s.correction(ctx, deployments, "bin/holdfast resume echo-demo", imageIs(otherImage), imageIs(image))
	if err != nil {
		return err
	}
	s.ok("diff, explain and status have named the field; it was corrected %s after the resume", rounded(took))
	return nil
}

// saysDrift returns an error unless the output of a command contains both images.
func saysDrift(output string) error {
	for _, part := range []string{image, otherImage} {
		if !strings.Contains(output, part) {
			return fmt.Errorf("it does not contain %s", part)
		}
	}
	return nil
}

// until waits until the Application is in a state.
func (s *story) until(ctx context.Context, state condition) error {
	follower, err := s.cluster.follow(ctx, applications)
	if err != nil {
		return err
	}
	defer follower.stop()
	_, err = follower.until(ctx, state)
	return err
}

var isSuspended = condition{"that it is seen to be suspended", func(object *unstructured.Unstructured) bool {
	app, err := decode(object)
	if err != nil {
		return false
	}
	return app.Spec.Suspend && app.Status.ObservedGeneration == app.Generation
}}
