package node

import (
	"context"
	"fmt"
	"hash/fnv"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// address is the address of the Node. No server listens there.
const address = "10.255.255.1"

// pod updates a Pod: from pending to running and ready, to succeeded if it belongs to a Job, and it
// completes its deletion.
func (p player) pod(ctx context.Context, pod *core.Pod) error {
	pods := p.client.CoreV1().Pods(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		at := int64(0)
		return pods.Delete(ctx, pod.Name, meta.DeleteOptions{GracePeriodSeconds: &at, Preconditions: &meta.Preconditions{UID: &pod.UID}})
	}
	next := pod.DeepCopy()
	switch {
	case pod.Status.Phase == core.PodPending:
		run(next)
	case pod.Status.Phase == core.PodRunning && isWork(pod):
		succeed(next)
	default:
		return nil
	}
	_, err := pods.UpdateStatus(ctx, next, meta.UpdateOptions{})
	return err
}

// isWork reports whether a Pod belongs to a Job.
func isWork(pod *core.Pod) bool {
	owner := meta.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// run sets the status of a Pod to running, with completed init containers.
func run(pod *core.Pod) {
	now := meta.Now()
	status := &pod.Status
	status.Phase, status.StartTime, status.ObservedGeneration = core.PodRunning, &now, pod.Generation
	status.HostIP, status.HostIPs = address, []core.HostIP{{IP: address}}
	ip := addressOf(pod)
	status.PodIP, status.PodIPs = ip, []core.PodIP{{IP: ip}}
	conditions := []core.PodConditionType{core.PodInitialized, core.ContainersReady, core.PodReady}
	for _, gate := range pod.Spec.ReadinessGates {
		conditions = append(conditions, gate.ConditionType)
	}
	for _, condition := range conditions {
		setCondition(status, core.PodCondition{Type: condition, Status: core.ConditionTrue, LastTransitionTime: now})
	}
	running := core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: now}}
	status.ContainerStatuses = statuses(pod.Spec.Containers, func(core.Container) core.ContainerState { return running })
	status.InitContainerStatuses = statuses(pod.Spec.InitContainers, func(c core.Container) core.ContainerState {
		if c.RestartPolicy != nil && *c.RestartPolicy == core.ContainerRestartPolicyAlways {
			return running
		}
		return completed(now)
	})
}

// succeed sets the status of a running Pod to succeeded.
func succeed(pod *core.Pod) {
	pod.Status.Phase = core.PodSucceeded
	for _, condition := range []core.PodConditionType{core.ContainersReady, core.PodReady} {
		setCondition(&pod.Status, core.PodCondition{Type: condition, Status: core.ConditionFalse, Reason: "PodCompleted", LastTransitionTime: meta.Now()})
	}
	pod.Status.ContainerStatuses = statuses(pod.Spec.Containers, func(core.Container) core.ContainerState { return completed(meta.Now()) })
}

func completed(now meta.Time) core.ContainerState {
	return core.ContainerState{Terminated: &core.ContainerStateTerminated{Reason: "Completed", StartedAt: now, FinishedAt: now}}
}

func statuses(containers []core.Container, state func(core.Container) core.ContainerState) (all []core.ContainerStatus) {
	for _, c := range containers {
		is := state(c)
		started := is.Running != nil
		all = append(all, core.ContainerStatus{Name: c.Name, Image: c.Image, State: is, Ready: started, Started: &started})
	}
	return all
}

func setCondition(status *core.PodStatus, condition core.PodCondition) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == condition.Type {
			status.Conditions[i] = condition
			return
		}
	}
	status.Conditions = append(status.Conditions, condition)
}

// addressOf returns an address that is unlikely to belong to another Pod.
func addressOf(pod *core.Pod) string {
	if pod.Spec.HostNetwork {
		return address
	}
	hash := fnv.New32a()
	hash.Write([]byte(pod.UID))
	n := hash.Sum32()
	return fmt.Sprintf("10.%d.%d.%d", 128+n>>16%64, n>>8&0xff, n&0xff)
}
