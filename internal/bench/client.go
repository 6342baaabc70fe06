package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// workers is the number of concurrent requests of the bare client and of the submitting client.
const workers = 16

const (
	namespace = "default"
	userAgent = "bench"
)

var (
	configMaps  = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	accounts    = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	bindings    = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

// client is the bare client. It submits Applications, causes drift, and does the work of the controller
// itself for comparison.
type client struct{ dynamic.Interface }

func newClient(config *rest.Config) (*client, error) {
	config.UserAgent = userAgent
	d, err := dynamic.NewForConfig(config)
	return &client{d}, err
}

func (c *client) apps() dynamic.ResourceInterface {
	return c.Resource(v1alpha1.GroupVersionResource).Namespace(namespace)
}

func (c *client) configMaps() dynamic.ResourceInterface {
	return c.Resource(configMaps).Namespace(namespace)
}

// install applies the definitions and gives the default ServiceAccount permissions.
func (c *client) install(ctx context.Context, folder string) error {
	if err := c.define(ctx, filepath.Join(folder, "*.yaml"), nil); err != nil {
		return err
	}
	for _, one := range applier() {
		if err := c.make(ctx, one); err != nil {
			return err
		}
	}
	return c.served(ctx, v1alpha1.GroupVersionResource)
}

// define creates the CRDs in the files. mend can change them, and can be nil.
func (c *client) define(ctx context.Context, pattern string, mend func(*unstructured.Unstructured)) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no CRDs: %s", pattern)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &u.Object); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if mend != nil {
			mend(u)
		}
		if _, err := c.Resource(definitions).Create(ctx, u, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// applier returns the ServiceAccount of Applications, and its permissions.
func applier() []setupObject {
	binding := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "bench", map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": "holdfast-applier", "namespace": namespace}},
	})
	account := object("v1", "ServiceAccount", "holdfast-applier", nil)
	account.SetNamespace(namespace)
	return []setupObject{{accounts, account}, {bindings, binding}}
}

// make waits until the kind is served and creates the object, in its namespace if it names one.
func (c *client) make(ctx context.Context, one setupObject) error {
	if err := c.served(ctx, one.kind); err != nil {
		return err
	}
	_, err := c.Resource(one.kind).Namespace(one.object.GetNamespace()).Create(ctx, one.object, metav1.CreateOptions{})
	return err
}

// served waits until the API server serves a kind.
func (c *client) served(ctx context.Context, kind schema.GroupVersionResource) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errSlow)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := c.Resource(kind).List(ctx, metav1.ListOptions{Limit: 1}); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("waiting for %s: %w", kind.Resource, context.Cause(ctx))
}

func object(apiVersion, kind, name string, more map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name},
	}}
	for k, v := range more {
		u.Object[k] = v
	}
	return u
}

func configMap(name string) *unstructured.Unstructured {
	return object("v1", "ConfigMap", name, map[string]any{"data": map[string]any{"key": "held", "other": "value"}})
}

// application returns an Application with ConfigMaps of the given names.
func application(name string, names ...string) *unstructured.Unstructured {
	manifest := make([]any, len(names))
	for i, n := range names {
		manifest[i] = configMap(n).Object
	}
	return object("holdfast.dev/v1alpha1", "Application", name, map[string]any{"spec": map[string]any{"manifest": manifest}})
}

// each calls f for 0 … n-1, several at a time.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// free creates a ConfigMap that no Application holds.
func (c *client) free(ctx context.Context, name string) error {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
	_, err := c.configMaps().Create(ctx, object, metav1.CreateOptions{})
	return err
}

// drift sets data.key of a ConfigMap.
func (c *client) drift(ctx context.Context, name, value string) error {
	body, err := json.Marshal(map[string]any{"data": map[string]any{"key": value}})
	if err != nil {
		return err
	}
	_, err = c.configMaps().Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}

// revert makes one ConfigMap drift and returns the duration of the drift, from the response to the write to
// the event of the correction.
func (c *client) revert(ctx context.Context, name, value string) (time.Duration, error) {
	drifted := false
	var begun, ended time.Time
	err := await(ctx, c.configMaps(), 1, func(u *unstructured.Unstructured) bool {
		if u.GetName() != name {
			return false
		}
		drifted = drifted || !held(u)
		if drifted && held(u) {
			ended = time.Now()
			return true
		}
		return false
	}, func() error {
		err := c.drift(ctx, name, value)
		begun = time.Now()
		return err
	})
	return max(ended.Sub(begun), 0), err
}

// remove deletes Applications and waits until they are gone.
func (c *client) remove(ctx context.Context, names ...string) error {
	err := each(ctx, len(names), func(ctx context.Context, i int) error {
		err := c.apps().Delete(ctx, names[i], metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	for err == nil {
		list, listErr := c.apps().List(ctx, metav1.ListOptions{})
		if listErr != nil {
			return listErr
		}
		if !anyOf(list.Items, names) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
		err = ctx.Err()
	}
	return err
}

func anyOf(items []unstructured.Unstructured, names []string) bool {
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for _, item := range items {
		if wanted[item.GetName()] {
			return true
		}
	}
	return false
}
