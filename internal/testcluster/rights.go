package testcluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Right is a permission of a user.
type Right struct {
	Verb string
	// Resource includes its group, if it has one: applications.holdfast.dev
	Resource          string
	Subresource, Name string
	// Namespace is empty for all namespaces
	Namespace string
}

var selfReviews = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}

// Has reports whether a user has a permission. It sends the same request as `kubectl auth can-i --as`.
func (c *Cluster) Has(ctx context.Context, user string, right Right) (bool, error) {
	config := c.Config()
	config.UserAgent, config.Impersonate.UserName = UserAgent, user
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return false, err
	}
	resource := schema.ParseGroupResource(right.Resource)
	review := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"resourceAttributes": map[string]any{
		"verb": right.Verb, "group": resource.Group, "version": "*", "resource": resource.Resource,
		"subresource": right.Subresource, "name": right.Name, "namespace": right.Namespace,
	}}}}
	review.SetAPIVersion(selfReviews.GroupVersion().String())
	review.SetKind("SelfSubjectAccessReview")
	answer, err := client.Resource(selfReviews).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for a right of %s: %w", user, err)
	}
	allowed, _, err := unstructured.NestedBool(answer.Object, "status", "allowed")
	return allowed, err
}

// AwaitRight waits until a user has a permission, because the API server applies RBAC changes with a delay.
func (c *Cluster) AwaitRight(t testing.TB, user string, right Right) {
	t.Helper()
	var last error
	require.Eventually(t, func() bool {
		has, err := c.Has(t.Context(), user, right)
		last = err
		return has
	}, 2*time.Minute, 20*time.Millisecond, "%s should get %+v: %v", user, right, &last)
}
