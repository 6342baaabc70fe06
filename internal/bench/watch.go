package main

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// patience limits every wait.
const patience = 10 * time.Minute

var errSlow = errors.New("did not finish in 10 min")

// await watches a kind until the condition was true once for each of n objects. begin is called when the
// watch is open.
func await(ctx context.Context, resource dynamic.ResourceInterface, n int, condition func(*unstructured.Unstructured) bool, begin func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	list, err := resource.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: resource.Watch,
	})
	if err != nil {
		return err
	}
	defer stream.Stop()
	failed := make(chan error, 1)
	go func() { failed <- begin() }()
	met := map[string]bool{}
	for len(met) < n {
		select {
		case event, open := <-stream.ResultChan():
			if !open {
				return errors.New("the watch has ended early")
			}
			if u, ok := event.Object.(*unstructured.Unstructured); ok && condition(u) {
				met[u.GetName()] = true
			}
		case err := <-failed:
			if err != nil {
				return err
			}
			failed = nil // a receive from a nil channel blocks
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if failed == nil {
		return nil
	}
	return <-failed // the watch can be faster than the response
}

// ready reports whether an Application, or a resource of another program, is Ready.
func ready(u *unstructured.Unstructured) bool { return hasCondition(u, "Ready") }

func hasCondition(u *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == name {
			return m["status"] == "True"
		}
	}
	return false
}

// held reports whether a ConfigMap has its held value.
func held(u *unstructured.Unstructured) bool {
	value, _, _ := unstructured.NestedString(u.Object, "data", "key")
	return value == "held"
}
