package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// patience is the timeout of a step. Usually steps take milliseconds.
const patience = 30 * time.Second

// state is a state of an object, and the time when the watch delivered it.
type state struct {
	at     time.Time
	object *unstructured.Unstructured
}

// follower collects all states of one object.
type follower struct {
	kind   string
	states chan state
	watch  watch.Interface
}

// follow starts to watch the demo's object of a kind.
func (c *cluster) follow(ctx context.Context, resource schema.GroupVersionResource) (*follower, error) {
	now, err := c.get(ctx, resource)
	if err != nil {
		return nil, err
	}
	w, err := c.client.Resource(resource).Namespace(namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + application, ResourceVersion: now.GetResourceVersion(),
	})
	if err != nil {
		return nil, err
	}
	f := &follower{kind: now.GetKind(), states: make(chan state, 1000), watch: w}
	go func() {
		defer close(f.states)
		for event := range w.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok {
				f.states <- state{at: time.Now(), object: object}
			}
		}
	}()
	f.states <- state{at: time.Now(), object: now}
	return f, nil
}

// until returns the next state that meets the condition.
func (f *follower) until(ctx context.Context, c condition) (state, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case s, ok := <-f.states:
			if !ok {
				return state{}, fmt.Errorf("the watch of the %s has ended", f.kind)
			}
			if c.holds(s.object) {
				return s, nil
			}
		case <-timeout.C:
			return state{}, fmt.Errorf("the %s has not come to %s within %v", f.kind, c.what, patience)
		case <-ctx.Done():
			return state{}, ctx.Err()
		}
	}
}

func (f *follower) stop() { f.watch.Stop() }
