package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const imagesCommand = `kubectl get deploy echo-demo -o custom-columns=\
'REPLICAS:.spec.replicas,IMAGES:.spec.template.spec.containers[*].image'`

func (s *story) changeImage(ctx context.Context) error {
	took, err := s.correction(ctx, deployments,
		"kubectl set image deploy/echo-demo echo="+otherImage, imageIs(otherImage), imageIs(image))
	if err != nil {
		return err
	}
	if err := s.run(ctx, imagesCommand); err != nil {
		return err
	}
	s.ok("the image is %s again, after %s", image, rounded(took))
	return nil
}

// correction runs a command that changes an object, and measures with a watch how long the change lasts.
func (s *story) correction(ctx context.Context, resource schema.GroupVersionResource, command string, changed, corrected condition) (time.Duration, error) {
	follower, err := s.cluster.follow(ctx, resource)
	if err != nil {
		return 0, err
	}
	defer follower.stop()
	if err := s.run(ctx, command); err != nil {
		return 0, err
	}
	before, err := follower.until(ctx, changed)
	if err != nil {
		return 0, err
	}
	after, err := follower.until(ctx, corrected)
	return after.at.Sub(before.at), err
}

func (s *story) scale(ctx context.Context) error {
	follower, err := s.cluster.follow(ctx, deployments)
	if err != nil {
		return err
	}
	defer follower.stop()
	if err := s.run(ctx, "kubectl scale deploy/echo-demo --replicas=3"); err != nil {
		return err
	}
	scaled, err := follower.until(ctx, replicasAre(3))
	if err != nil {
		return err
	}
	if _, err := follower.until(ctx, rolledOut(3).or(writtenAgain(scaled.object))); err != nil {
		return err
	}
	if err := s.run(ctx, readyCommand); err != nil {
		return err
	}
	if err := s.run(ctx, "kubectl get hfapp,deploy echo-demo"); err != nil {
		return err
	}
	now, err := s.cluster.get(ctx, deployments)
	if err != nil {
		return err
	}
	if writtenAgain(scaled.object).holds(now) {
		return errors.New("another client has written the spec after it was scaled")
	}
	s.ok("3 Pods run, and no client has written the spec since it was scaled")
	return nil
}

func (s *story) changeAffinity(ctx context.Context) error {
	s.print(`The manifest does not set sessionAffinity. The API server chose None, and
because the schema names the field, Holdfast learned that value.`)
	took, err := s.correction(ctx, services,
		`kubectl patch svc echo-demo -p '{"spec": {"sessionAffinity": "ClientIP"}}'`,
		affinityIs("ClientIP"), affinityIs("None"))
	if err != nil {
		return err
	}
	if err := s.run(ctx, "kubectl get svc echo-demo -o jsonpath='{.spec.sessionAffinity}'"); err != nil {
		return err
	}
	s.ok("None again, after %s: the value that the API server had chosen", rounded(took))
	return nil
}

const injectCommand = `kubectl patch deploy echo-demo --type=json -p '[{"op": "add",
    "path": "/spec/template/spec/containers/0",
    "value": {"name": "proxy", "image": "registry.k8s.io/pause:3.10"}}]'`

const changeSecondCommand = `kubectl patch deploy echo-demo --type=json -p '[{"op": "replace",
    "path": "/spec/template/spec/containers/1/image",
    "value": "` + otherImage + `"}]'`

func (s *story) injectSidecar(ctx context.Context) error {
	s.print(`The held container was the first in its list, and becomes the second. It is
found by its name, and the schema lets the list have any length.`)
	if err := s.run(ctx, injectCommand); err != nil {
		return err
	}
	s.print("Now the held image is changed once more, in its new place.")
	took, err := s.correction(ctx, deployments, changeSecondCommand, imageIs(otherImage), imageIs(image))
	if err != nil {
		return err
	}
	if err := s.run(ctx, imagesCommand); err != nil {
		return err
	}
	deployment, err := s.cluster.get(ctx, deployments)
	if err != nil {
		return err
	}
	if names := containerNames(deployment); !slices.Equal(names, []string{"proxy", container}) {
		return fmt.Errorf("the containers are %v, not the sidecar and then %s", names, container)
	}
	s.ok("the sidecar is still there, before the held container")
	s.ok("the held image is back, after %s", rounded(took))
	if !replicasAre(3).holds(deployment) {
		return errors.New("the replicas are not 3 any more")
	}
	s.ok("the replicas are still 3, whatever was corrected since")
	return nil
}
