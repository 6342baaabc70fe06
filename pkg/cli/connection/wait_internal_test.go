package connection

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

func TestWaitingEnds(t *testing.T) {
	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", Message: "all is well"}
	progressing := metav1.Condition{Type: "Ready", Status: "False", Reason: "Progressing", Message: "a: in progress"}
	forbidden := metav1.Condition{Type: "Ready", Status: "False", Reason: "Forbidden", Message: "no"}
	stalled := metav1.Condition{Type: "Stalled", Status: "True", Reason: "Forbidden"}
	suspended := metav1.Condition{Type: "Ready", Status: "False", Reason: "Suspended", Message: "unset it"}
	for _, row := range []struct {
		name       string
		observed   int64
		conditions []metav1.Condition
		done       bool
		err, shown string
	}{
		{"the status of an older generation", 1, []metav1.Condition{ready, stalled}, false, "", ""},
		{"a resource in progress", 2, []metav1.Condition{progressing}, false, "", "ConfigMap r0  InProgress\n"},
		{"a ready Application", 2, []metav1.Condition{ready}, true, "", "ConfigMap r0  InProgress\nready: all is well\n"},
		{"a missing permission", 2, []metav1.Condition{forbidden, stalled}, true, "shop/web is not ready, and needs your action: Forbidden: no", "ConfigMap r0  InProgress\n"},
		{"a suspended Application", 2, []metav1.Condition{suspended}, true, "shop/web is not ready, and needs your action: Suspended: unset it", "ConfigMap r0  InProgress\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out bytes.Buffer
			_, visit := untilReady(NewProgress(terminal.Streams{Err: &out, Getenv: func(string) string { return "" }}), "shop", "web")
			app := states("InProgress")
			app.Generation, app.Status.ObservedGeneration, app.Status.Conditions = 2, row.observed, row.conditions
			app.Spec.Suspend = slices.ContainsFunc(row.conditions, func(c metav1.Condition) bool { return c.Reason == "Suspended" })
			done, err := visit(app)
			assert.Equal(t, row.done, done)
			assert.Equal(t, row.shown, out.String())
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			var exit *terminal.Exit
			require.ErrorAs(t, err, &exit)
			assert.Equal(t, terminal.StatusDifferent, exit.Status)
			require.EqualError(t, err, row.err)
		})
	}
	late, visit := untilReady(nil, "shop", "web")
	_, err := visit(nil)
	require.EqualError(t, err, "shop/web was deleted during the wait")
	require.EqualError(t, late(), "shop/web is not ready: Waiting: the controller has not reconciled it yet. For details, run: holdfast status web -n shop")
}
