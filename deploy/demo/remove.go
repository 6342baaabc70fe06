package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

func (s *story) remove(ctx context.Context) error {
	started := time.Now()
	if err := s.run(ctx, "kubectl delete hfapp echo-demo"); err != nil {
		return err
	}
	// The garbage collector deletes the Deployment's ReplicaSets and Pods shortly after it.
	if err := s.cluster.untilEmpty(ctx); err != nil {
		return err
	}
	took := time.Since(started)
	if err := s.run(ctx, "kubectl get hfapp,deploy,rs,pods,svc"); err != nil {
		return err
	}
	s.ok("Deployment, ReplicaSets, Pods and Service are gone after %s", rounded(took))
	return nil
}

// untilEmpty waits until the namespace default contains only the Service of the API server.
func (c *cluster) untilEmpty(ctx context.Context) error {
	var left []string
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var err error
		left, err = c.remaining(ctx)
		return len(left) == 0, err
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("after %v there are still: %s", patience, strings.Join(left, ", "))
	}
	return err
}

func (c *cluster) remaining(ctx context.Context) ([]string, error) {
	var found []string
	for _, resource := range []schema.GroupVersionResource{applications, deployments, replicaSets, pods, services} {
		list, err := c.client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, object := range list.Items {
			if object.GetKind() == "Service" && object.GetName() == "kubernetes" {
				continue
			}
			found = append(found, object.GetKind()+" "+object.GetName())
		}
	}
	return found, nil
}
