package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/reconcile"
)

var events = schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"}

// sample contains the metadata and status that the controller writes for an Application.
type sample struct {
	annotations map[string]string
	finalizers  []string
	status      []byte
	// arrives is true if the annotations and finalizers are submitted with the Application.
	arrives bool
}

// submit creates an Application of one ConfigMap with the same name, including the write-ahead record if it
// arrives with it.
func (c *client) submit(ctx context.Context, name string, s sample) error {
	u := application(name, name)
	if s.arrives {
		annotations, err := ahead(u)
		if err != nil {
			return err
		}
		u.SetAnnotations(annotations)
		u.SetFinalizers(s.finalizers)
	}
	_, err := c.apps().Create(ctx, u, metav1.CreateOptions{})
	return err
}

// ahead returns the write-ahead record that `holdfast submit` computes.
func ahead(u *unstructured.Unstructured) (map[string]string, error) {
	raw, err := u.MarshalJSON()
	if err != nil {
		return nil, err
	}
	app := &v1alpha1.Application{}
	if err := json.Unmarshal(raw, app); err != nil {
		return nil, err
	}
	app.Namespace, app.UID = namespace, "not known yet"
	return reconcile.Ahead(plan.Decide(plan.Input{Application: app, Kinds: intent.Offline()}), app), nil
}

// bare does all writes of a user and of the controller for an Application of one ConfigMap.
func (c *client) bare(ctx context.Context, name string, s sample) error {
	if err := c.submit(ctx, name, s); err != nil {
		return err
	}
	if !s.arrives {
		metadata, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": s.annotations}})
		if err != nil {
			return err
		}
		if _, err := c.apps().Patch(ctx, name, types.MergePatchType, metadata, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	if _, err := c.configMaps().Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
		return err
	}
	if _, err := c.apps().Patch(ctx, name, types.JSONPatchType, s.status, metav1.PatchOptions{}, "status"); err != nil {
		return err
	}
	event := object("events.k8s.io/v1", "Event", fmt.Sprintf("%s.%t", name, s.arrives), map[string]any{
		"regarding": map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Application", "namespace": namespace, "name": name},
		"eventTime": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"), "type": "Normal", "reason": "Created", "action": "Reconcile",
		"note": "created ConfigMap " + name, "reportingController": "bench", "reportingInstance": "bench",
	})
	_, err := c.Resource(events).Namespace(namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// follow reads a watch, as the controller does, until the context ends.
func follow(ctx context.Context, resource dynamic.ResourceInterface) error {
	stream, err := resource.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	go func() {
		for event := range stream.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok {
				_ = manifest.WithoutServerFields(u.Object)
			}
		}
	}()
	return nil
}

// removeBare deletes the objects that bare has created.
func (c *client) removeBare(ctx context.Context, names []string) error {
	err := each(ctx, len(names), func(ctx context.Context, i int) error {
		body := []byte(`{"metadata": {"finalizers": null}}`)
		if _, err := c.apps().Patch(ctx, names[i], types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
			return err
		}
		return c.configMaps().Delete(ctx, names[i], metav1.DeleteOptions{})
	})
	if err != nil {
		return err
	}
	return c.remove(ctx, names...)
}
