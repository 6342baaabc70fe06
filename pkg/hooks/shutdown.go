package hooks

import (
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// ShutdownStep is the next step when an Application with a shutdown hook is deleted.
type ShutdownStep string

// The steps of a shutdown.
const (
	// ShutdownCall calls the workload.
	ShutdownCall ShutdownStep = "call"
	// ShutdownWait waits for the workload to call back.
	ShutdownWait ShutdownStep = "wait"
	// ShutdownDone deletes the resources after the workload has called back.
	ShutdownDone ShutdownStep = "done"
	// ShutdownFailed deletes the resources although the workload has not called back.
	ShutdownFailed ShutdownStep = "failed"
	// ShutdownStuck keeps all resources.
	ShutdownStuck ShutdownStep = "stuck"
)

// NextShutdown returns the next step, and how long to wait for it, from the shutdown status, which can be
// nil. acknowledged is true once the workload has called back.
//
//	acknowledged                           done
//	never called                           call
//	called, grace period not over          wait
//	called, over, attempts left            call
//	called, over, no attempts left         failed or stuck, depending on onFailure
func NextShutdown(hook v1alpha1.ShutdownHook, status *v1alpha1.ShutdownStatus, acknowledged bool, now time.Time) (ShutdownStep, time.Duration) {
	switch {
	case acknowledged:
		return ShutdownDone, 0
	case status == nil || status.Attempts == 0 || status.LastAttempt == nil:
		return ShutdownCall, 0
	}
	if wait := status.LastAttempt.Add(Grace(hook)).Sub(now); wait > 0 {
		return ShutdownWait, wait
	}
	if status.Attempts <= Retries(hook) {
		return ShutdownCall, 0
	}
	if hook.OnFailure == v1alpha1.ShutdownDelete {
		return ShutdownFailed, 0
	}
	return ShutdownStuck, 0
}

// Retries returns how often the workload is called again after the first call.
func Retries(hook v1alpha1.ShutdownHook) int32 {
	if hook.Retries == nil {
		return 2
	}
	return *hook.Retries
}

// Grace returns the time that the workload has after each call.
func Grace(hook v1alpha1.ShutdownHook) time.Duration {
	if hook.GracePeriodSeconds <= 0 {
		return 30 * time.Second
	}
	return time.Duration(hook.GracePeriodSeconds) * time.Second
}
