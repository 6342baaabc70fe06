package hooks

import (
	"time"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// ShutdownStep is what comes next when an Application with a shutdown hook is
// deleted.
type ShutdownStep string

// The steps of a shutdown.
const (
	// ShutdownCall calls the workload.
	ShutdownCall ShutdownStep = "call"
	// ShutdownWait waits for the workload to call back.
	ShutdownWait ShutdownStep = "wait"
	// ShutdownDone deletes the resources: the workload has called back.
	ShutdownDone ShutdownStep = "done"
	// ShutdownFailed deletes the resources although it never did.
	ShutdownFailed ShutdownStep = "failed"
	// ShutdownStuck leaves everything in place.
	ShutdownStuck ShutdownStep = "stuck"
)

// NextShutdown says what comes next, and how long to wait for it, by what the
// status has on record. status may be nil. acknowledged is true once the workload
// has called back.
//
//	acknowledged                           done
//	never called                           call
//	called, grace period not over          wait
//	called, over, attempts left            call
//	called, over, no attempts left         failed or stuck, as onFailure says
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

// Retries is how often the workload is called after the first time.
func Retries(hook v1alpha1.ShutdownHook) int32 {
	if hook.Retries == nil {
		return 2
	}
	return *hook.Retries
}

// Grace is how long the workload may take after each call.
func Grace(hook v1alpha1.ShutdownHook) time.Duration {
	if hook.GracePeriodSeconds <= 0 {
		return 30 * time.Second
	}
	return time.Duration(hook.GracePeriodSeconds) * time.Second
}
