package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

func TestIsAcknowledged(t *testing.T) {
	for _, row := range []struct {
		name, annotation, status string
		want                     bool
	}{
		{"not seen yet", "2", "1", false},
		{"acknowledged", "2", "2", true},
		{"replaced by a later request", "3", "1", false},
		{"the later request is acknowledged", "3", "3", true},
		{"acknowledged before the later request", "3", "2", true},
		{"the annotation was removed", "", "", false},
	} {
		app := &v1alpha1.Application{}
		app.Annotations = map[string]string{v1alpha1.AnnotationReconcile: row.annotation}
		app.Status.ReconcileRequest = row.status
		assert.Equal(t, row.want, isAcknowledged(app, "2"), row.name)
	}
}
