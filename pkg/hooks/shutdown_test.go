package hooks_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
)

func TestNextShutdown(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	called := func(times int32, ago time.Duration) *v1alpha1.ShutdownStatus {
		at := metav1.NewTime(now.Add(-ago))
		return &v1alpha1.ShutdownStatus{Attempts: times, LastAttempt: &at}
	}
	retries := int32(1)
	hook := v1alpha1.ShutdownHook{GracePeriodSeconds: 10, Retries: &retries}
	deletes := hook
	deletes.OnFailure = v1alpha1.ShutdownDelete
	for _, row := range []struct {
		name         string
		hook         v1alpha1.ShutdownHook
		status       *v1alpha1.ShutdownStatus
		acknowledged bool
		step         hooks.ShutdownStep
		wait         time.Duration
	}{
		{"no call so far", hook, nil, false, hooks.ShutdownCall, 0},
		{"no call, according to the status", hook, &v1alpha1.ShutdownStatus{}, false, hooks.ShutdownCall, 0},
		{"it has time left", hook, called(1, 4*time.Second), false, hooks.ShutdownWait, 6 * time.Second},
		{"its time is over", hook, called(1, 10*time.Second), false, hooks.ShutdownCall, 0},
		{"it has time left, the last time", hook, called(2, 4*time.Second), false, hooks.ShutdownWait, 6 * time.Second},
		{"its time is over, the last time", hook, called(2, time.Hour), false, hooks.ShutdownStuck, 0},
		{"its time is over, and it is deleted anyway", deletes, called(2, time.Hour), false, hooks.ShutdownFailed, 0},
		{"it has called back", hook, called(1, time.Second), true, hooks.ShutdownDone, 0},
		{"it has called back late", hook, called(2, time.Hour), true, hooks.ShutdownDone, 0},
		{"the defaults are 30 seconds and two more calls", v1alpha1.ShutdownHook{}, called(3, 29*time.Second), false, hooks.ShutdownWait, time.Second},
		{"the defaults leave everything in place", v1alpha1.ShutdownHook{}, called(3, 30*time.Second), false, hooks.ShutdownStuck, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			step, wait := hooks.NextShutdown(row.hook, row.status, row.acknowledged, now)
			assert.Equal(t, row.step, step)
			assert.Equal(t, row.wait, wait)
		})
	}
}
