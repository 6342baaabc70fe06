package connection_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
)

func TestMissingControllers(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	long, short := ago(time.Minute), ago(time.Second)
	wrote := func(at metav1.Time, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl", Subresource: subresource, Time: &at}
	}
	meta := func(deleted *metav1.Time, writes ...metav1.ManagedFieldsEntry) metav1.ObjectMeta {
		return metav1.ObjectMeta{Generation: 2, CreationTimestamp: long, DeletionTimestamp: deleted, ManagedFields: writes}
	}
	looked := func(generation int64) v1alpha1.ApplicationStatus {
		return v1alpha1.ApplicationStatus{ObservedGeneration: generation, Conditions: []metav1.Condition{{Type: "Ready", Status: "True"}}}
	}
	const cause = ": none runs, or none selects its namespace and labels"
	for name, row := range map[string]struct {
		app        v1alpha1.Application
		unattended bool
		says       string
	}{
		"it was submitted long ago":       {v1alpha1.Application{ObjectMeta: meta(nil)}, true, "no controller has reconciled it" + cause},
		"it was submitted just now":       {v1alpha1.Application{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: short}}, false, "no controller has reconciled it" + cause},
		"a version was submitted":         {v1alpha1.Application{ObjectMeta: meta(nil, wrote(long, "")), Status: looked(1)}, true, "no controller has reconciled this version" + cause},
		"a version was submitted now":     {v1alpha1.Application{ObjectMeta: meta(nil, wrote(short, "")), Status: looked(1)}, false, "no controller has reconciled this version" + cause},
		"its status is no version":        {v1alpha1.Application{ObjectMeta: meta(nil, wrote(short, "status")), Status: looked(1)}, true, "no controller has reconciled this version" + cause},
		"it was looked at":                {v1alpha1.Application{ObjectMeta: meta(nil), Status: looked(2)}, false, "no controller has reconciled this version" + cause},
		"it is being deleted":             {v1alpha1.Application{ObjectMeta: meta(&long), Status: looked(1)}, true, "no controller removes its finalizer" + cause},
		"it is being deleted since now":   {v1alpha1.Application{ObjectMeta: meta(&short), Status: looked(1)}, false, "no controller removes its finalizer" + cause},
		"of a file it is not known since": {v1alpha1.Application{}, false, "no controller has reconciled it" + cause},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, row.unattended, connection.IsUnattended(&row.app, now))
			assert.Equal(t, row.says, connection.MissingStep(&row.app))
		})
	}
}
