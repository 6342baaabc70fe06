package faults_test

import (
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

var (
	applications = v1alpha1.GroupVersionResource
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// connect creates the client for frequent requests of the test itself.
func (w *world) connect() {
	w.t.Helper()
	config := w.cluster.Config()
	config.UserAgent, config.Timeout = "a-user", 30*time.Second
	client, err := dynamic.NewForConfig(config)
	require.NoError(w.t, err)
	w.client = client
}

// get returns the current object, or an empty one if it cannot be read.
func (w *world) get(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	found, err := w.client.Resource(resource).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return &unstructured.Unstructured{Object: map[string]any{}}
	}
	return found
}

// application returns the current Application, or an empty one if it cannot be read.
func (w *world) application(namespace, name string) *v1alpha1.Application {
	w.t.Helper()
	app := &v1alpha1.Application{}
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(w.get(applications, namespace, name).Object, app))
	return app
}

// ready returns the condition Ready of an Application.
func (w *world) ready(namespace, name string) string {
	w.t.Helper()
	if ready := meta.FindStatusCondition(w.application(namespace, name).Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.Message
	}
	return ""
}

// hasNone reports whether a namespace contains no object of a resource.
func (w *world) hasNone(resource schema.GroupVersionResource, namespace, selector string) bool {
	list, err := w.client.Resource(resource).Namespace(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: selector})
	return err == nil && len(list.Items) == 0
}

// tryDelete deletes an object with a dry run.
func (w *world) tryDelete(resource schema.GroupVersionResource, namespace, name string) error {
	return w.client.Resource(resource).Namespace(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
}

// Submit applies an Application and retries while the control plane is down. A permanent error fails the
// test.
func (w *world) Submit(namespace, name, spec string) {
	w.t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(w.t, yaml.Unmarshal([]byte(application(name, spec)), &u.Object))
	w.Until("submitting "+name, func() bool {
		_, err := w.client.Resource(applications).Namespace(namespace).Apply(w.t.Context(), name, u, metav1.ApplyOptions{FieldManager: "kubectl", Force: true})
		require.False(w.t, apierrors.IsInvalid(err), "%v", err)
		return err == nil
	})
}

// AwaitHeld waits until the current generation of an Application is held.
func (w *world) AwaitHeld(namespace, name string) {
	w.t.Helper()
	w.Until(name+" is held", func() bool {
		app := w.application(namespace, name)
		return app.Name != "" && app.Generation == app.Status.ObservedGeneration &&
			meta.IsStatusConditionTrue(app.Status.Conditions, v1alpha1.ConditionHeld)
	})
}
