package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// The objects in examples/echo-demo.yaml.
const (
	namespace   = "default"
	application = "echo-demo" // also the name of its Deployment and its Service
	container   = "echo"
	image       = "registry.k8s.io/echoserver:1.4"
	otherImage  = "registry.k8s.io/echoserver:1.10"
)

var (
	applications = v1alpha1.GroupVersionResource
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSets  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// get reads the demo's object of a kind.
func (c *cluster) get(ctx context.Context, resource schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	return c.client.Resource(resource).Namespace(namespace).Get(ctx, application, metav1.GetOptions{})
}

// condition is a named predicate of objects.
type condition struct {
	what  string
	holds func(*unstructured.Unstructured) bool
}

func (c condition) or(other condition) condition {
	return condition{c.what, func(object *unstructured.Unstructured) bool { return c.holds(object) || other.holds(object) }}
}

func imageIs(image string) condition {
	return condition{"image " + image, func(deployment *unstructured.Unstructured) bool {
		for _, c := range containersOf(deployment) {
			if c["name"] == container {
				return c["image"] == image
			}
		}
		return false
	}}
}

func affinityIs(affinity string) condition {
	return condition{"sessionAffinity " + affinity, func(service *unstructured.Unstructured) bool {
		value, _, _ := unstructured.NestedString(service.Object, "spec", "sessionAffinity")
		return value == affinity
	}}
}

func replicasAre(n int64) condition {
	return condition{fmt.Sprint(n, " replicas"), func(deployment *unstructured.Unstructured) bool {
		return number(deployment, "spec", "replicas") == n
	}}
}

// rolledOut returns the condition that all Pods of a Deployment are updated and ready.
func rolledOut(n int64) condition {
	return condition{fmt.Sprint(n, " new Pods that are ready"), func(deployment *unstructured.Unstructured) bool {
		return number(deployment, "status", "observedGeneration") == deployment.GetGeneration() &&
			number(deployment, "status", "replicas") == n &&
			number(deployment, "status", "updatedReplicas") == n &&
			number(deployment, "status", "availableReplicas") == n
	}}
}

// writtenAgain returns the condition that the spec has changed since an earlier state. The generation
// counts the changes of a spec by any client.
func writtenAgain(earlier *unstructured.Unstructured) condition {
	return condition{"another spec", func(object *unstructured.Unstructured) bool {
		return object.GetGeneration() != earlier.GetGeneration()
	}}
}

// number returns an integer field of an object, or 0.
func number(object *unstructured.Unstructured, fields ...string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, fields...)
	return value
}

// containersOf returns the containers in a Deployment's template.
func containersOf(deployment *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	var found []map[string]any
	for _, element := range list {
		if c, ok := element.(map[string]any); ok {
			found = append(found, c)
		}
	}
	return found
}

// containerNames returns the names of the containers in order.
func containerNames(deployment *unstructured.Unstructured) []string {
	var names []string
	for _, c := range containersOf(deployment) {
		names = append(names, fmt.Sprint(c["name"]))
	}
	return names
}
