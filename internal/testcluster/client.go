package testcluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// UserAgent is the user agent of the package's own requests.
const UserAgent = "holdfast-testcluster"

// Kubectl runs the real kubectl of the control plane's release as the administrator. The error contains its
// standard error.
func (c *Cluster) Kubectl(ctx context.Context, stdin string, args ...string) (stdout string, err error) {
	return c.KubectlWith(ctx, nil, stdin, args...)
}

// KubectlWith runs Kubectl with additional environment variables, for example an editor.
func (c *Cluster) KubectlWith(ctx context.Context, variables []string, stdin string, args ...string) (stdout string, err error) {
	all := append([]string{"kubectl", "--cache-dir=" + c.kubectlCache()}, args...)
	cmd := exec.CommandContext(ctx, c.binary, all...)
	// Preferences of the user must not affect tests.
	cmd.Env = append(environment(), "KUBECONFIG="+c.Kubeconfig(), "KUBECTL_KUBERC=false")
	cmd.Env = append(cmd.Env, variables...)
	var output, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &output, &problems
	if err := cmd.Run(); err != nil {
		return output.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return output.String(), nil
}

// Define applies the definition of a custom resource, such as songs.example.com. It returns when discovery
// contains the resource, which is slightly later than the condition Established.
func (c *Cluster) Define(ctx context.Context, definition, resource string) error {
	config := c.Config()
	config.UserAgent = UserAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(definition), &u.Object); err != nil {
		return fmt.Errorf("reading the definition of %s: %w", resource, err)
	}
	if _, err := client.Resource(definitions).Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
		return fmt.Errorf("applying the definition of %s: %w", resource, err)
	}
	served := func(ctx context.Context) (bool, error) {
		at, ok := find(known, schema.ParseGroupResource(resource))
		if !ok {
			return false, nil
		}
		_, err := client.Resource(at).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, served); err != nil {
		return fmt.Errorf("waiting for %s: %w", resource, err)
	}
	// The discovery cache of kubectl is outdated.
	_ = os.RemoveAll(c.kubectlCache())
	return nil
}

// find returns the version in which a resource is served.
func find(client discovery.DiscoveryInterface, resource schema.GroupResource) (schema.GroupVersionResource, bool) {
	// Errors of other groups do not matter.
	_, lists, _ := client.ServerGroupsAndResources()
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil || version.Group != resource.Group {
			continue
		}
		for _, found := range list.APIResources {
			if found.Name == resource.Resource {
				return version.WithResource(resource.Resource), true
			}
		}
	}
	return schema.GroupVersionResource{}, false
}

func (c *Cluster) kubectlCache() string { return filepath.Join(c.dir, "kubectl-cache") }

var (
	definitions     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	notInName       = regexp.MustCompile(`[^a-z0-9]+`)
)

// Namespace creates a namespace for the test and returns its name. It is not deleted.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	config := c.Config()
	config.UserAgent = UserAgent
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetGenerateName(namePrefix(t.Name()))
	created, err := client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a namespace: %v", err)
	}
	if c.options.ControllerManager || c.options.Node {
		c.awaitServiceAccount(t, client, created.GetName())
	}
	return created.GetName()
}

// namePrefix shortens the name of a test so that it fits into a label together with the suffix of the API
// server.
func namePrefix(test string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(test), "-"), "-")
	return strings.Trim(name[:min(len(name), 40)], "-") + "-"
}

// awaitServiceAccount waits until Pods can be created in the namespace. The API server rejects them before.
func (c *Cluster) awaitServiceAccount(t testing.TB, client dynamic.Interface, namespace string) {
	t.Helper()
	found := func(ctx context.Context) (bool, error) {
		_, err := client.Resource(serviceAccounts).Namespace(namespace).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true, found)
	if err != nil {
		t.Fatalf("waiting for the service account of namespace %s: %v", namespace, err)
	}
}
