package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

// ShuttingDown returns the status of an Application whose workload is asked to shut down before any object is
// deleted. In the step ShutdownCall, this status must be written before the workload is called. A call that is
// not recorded would be repeated.
func ShuttingDown(app *v1alpha1.Application, step hooks.ShutdownStep, lastError string, now time.Time) Result {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	// The status keeps everything that is not set below.
	c := &summarizer{plan: &Plan{facts: facts{in: Input{Application: app}, retiring: true}}, now: at}
	c.result.Status = *app.Status.DeepCopy()
	c.result.Status.ObservedGeneration = app.Generation
	c.result.Status.ReconcileRequest = app.Annotations[v1alpha1.AnnotationReconcile]
	if c.result.Status.Hooks == nil {
		c.result.Status.Hooks = &v1alpha1.HooksStatus{}
	}
	state := c.result.Status.Hooks.Shutdown
	if state == nil {
		state = &v1alpha1.ShutdownStatus{}
		c.result.Status.Hooks.Shutdown = state
	}
	state.LastError = lastError
	if step == hooks.ShutdownCall {
		// Rounded up, so that the workload gets its full timeout.
		called := metav1.NewTime(now.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second))
		state.Attempts, state.LastAttempt, state.LastError = state.Attempts+1, &called, ""
	}
	conditionWriter{c}.setUnready(shutdownVerdict(*app.Spec.Hooks.Shutdown, step, *state))
	eventWriter{c}.event()
	return c.result
}

// shutdownVerdict returns the Ready verdict while the workload shuts down. It stalls only in the step
// ShutdownStuck, in which all resources are kept.
func shutdownVerdict(hook v1alpha1.ShutdownHook, step hooks.ShutdownStep, state v1alpha1.ShutdownStatus) verdict {
	said := ""
	if state.LastError != "" {
		said = ": " + state.LastError
	}
	if step == hooks.ShutdownStuck {
		return falseVerdict(v1alpha1.ReasonShutdownFailed, fmt.Sprintf(
			"the workload did not call back after Service %s was called %s%s. Nothing is deleted: set the annotation %s to try again, "+
				"or spec.hooks.shutdown.onFailure to Delete, or remove spec.hooks.shutdown to delete everything now",
			hook.Service, count(int(state.Attempts), "time"), said, v1alpha1.AnnotationReconcile), true)
	}
	return falseVerdict(v1alpha1.ReasonShuttingDown, fmt.Sprintf("Service %s was asked to shut down (attempt %d of %d)%s",
		hook.Service, state.Attempts, hooks.Retries(hook)+1, said), false)
}
