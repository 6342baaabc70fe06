package setup

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/manifest"
)

// awaitController waits until the Pods of the controller match the Deployment and are ready, and one of them is the
// leader. A ready Pod has listed the Applications, so the leader reconciles them from then on. It asks every half second.
// The message at the timeout names the first Pod with a reason, or the last known one.
func (o *installOptions) awaitController(ctx context.Context, c *connection.Cluster) error {
	in := cmp.Or(*o.connection.Namespace, deploy.Namespace)
	why := "its Pods are not created yet"
	late := func() error {
		return fmt.Errorf("the controller is not ready: %s. For details, run: kubectl describe pods -n %s", why, in)
	}
	err := o.wait.Until(ctx, late, func(ctx context.Context) (bool, error) {
		deployment, err := c.Own.Resource(deployments).Namespace(in).Get(ctx, controllerName, metav1.GetOptions{})
		if err != nil {
			return false, c.Explained(err, "get", "Deployment "+in+"/"+controllerName)
		}
		if isRolledOut(deployment) {
			why = "none of its Pods is the leader yet"
			return hasLeader(ctx, c, deployedController{deployment})
		}
		why = cmp.Or(trouble(ctx, c, in), why)
		return false, nil
	})
	if err == nil {
		_, err = fmt.Fprintln(o.streams.Out, "the controller is ready")
	}
	return err
}

// isRolledOut reports whether all Pods of a Deployment are up to date and available, and no old Pods remain. The
// rule is that of kubectl rollout status: observedGeneration, then updated, then available replicas.
func isRolledOut(deployment *unstructured.Unstructured) bool {
	number := func(fields ...string) int64 {
		n, _, _ := unstructured.NestedInt64(deployment.Object, fields...)
		return n
	}
	wanted := number("spec", "replicas")
	return number("status", "observedGeneration") == deployment.GetGeneration() && number("status", "replicas") == wanted &&
		number("status", "updatedReplicas") == wanted && number("status", "availableReplicas") == wanted
}

// hasLeader reports whether a Pod that is not being deleted holds the Lease of a controller. The holder in a Lease can be
// a Pod of the past, until its Lease expires.
func hasLeader(ctx context.Context, c *connection.Cluster, d deployedController) (bool, error) {
	lease, err := c.Own.Resource(leases).Namespace(d.GetNamespace()).Get(ctx, d.lease(), metav1.GetOptions{})
	if err == nil {
		// The controller puts a random suffix after the name of its Pod.
		holder, _, _ := strings.Cut(manifest.NestedString(lease.Object, "spec", "holderIdentity"), "_")
		if holder == "" {
			return false, nil
		}
		var pod *unstructured.Unstructured
		if pod, err = c.Own.Resource(pods).Namespace(d.GetNamespace()).Get(ctx, holder, metav1.GetOptions{}); err == nil {
			return pod.GetDeletionTimestamp() == nil, nil
		}
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return false, c.Explained(err, "get", "the leader of the Deployment "+d.GetNamespace()+"/"+d.GetName())
}

// trouble returns the reason why a Pod of the controller is not ready, or "" if the user cannot list Pods. Pods of
// an older ReplicaSet count, too: during a rollout the first reason is usually that of the new Pod.
func trouble(ctx context.Context, c *connection.Cluster, namespace string) string {
	list, err := c.Own.Resource(pods).Namespace(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=holdfast,app.kubernetes.io/component=controller",
	})
	if err != nil {
		return ""
	}
	for _, pod := range list.Items {
		if why := waiting(pod); why != "" {
			return "Pod " + pod.GetName() + ": " + why
		}
	}
	return ""
}

// waiting returns the reason why a Pod does not run: the reason that its container waits for, or the
// message of a condition that is not met.
//
//	ErrImagePull: failed to pull the image ...
//	CrashLoopBackOff: back-off 10s restarting failed container ...
//	0/3 nodes are available: ...       (the condition PodScheduled)
func waiting(pod unstructured.Unstructured) string {
	for _, status := range manifest.NestedMaps(pod.Object, "status", "containerStatuses") {
		if reason := manifest.NestedString(status, "state", "waiting", "reason"); reason != "" {
			return strings.TrimSuffix(reason+": "+manifest.NestedString(status, "state", "waiting", "message"), ": ")
		}
	}
	for _, condition := range manifest.NestedMaps(pod.Object, "status", "conditions") {
		if message := manifest.NestedString(condition, "message"); condition["status"] == "False" && message != "" {
			return message
		}
	}
	return ""
}
