package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/plan"
)

func TestWriterClass(t *testing.T) {
	for manager, class := range map[string]string{
		"": "unknown", "kubectl-edit": "person", "kubectl": "person", "Lens": "person", "kube-controller-manager": "controller",
		"horizontal-pod-autoscaler": "autoscaler", "keda-operator": "autoscaler", "istio-sidecar-injector": "controller", "terraform": "other",
	} {
		assert.Equal(t, class, plan.WriterClass(manager, "Update"), manager)
	}
	assert.Equal(t, "apply", plan.WriterClass("flux", "Apply"))
	assert.Equal(t, "person", plan.WriterClass("kubectl", "Apply"))
}
