package writer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/writer"
)

func TestClass(t *testing.T) {
	for manager, class := range map[string]string{
		"": "unknown", "kubectl-edit": "person", "kubectl": "person", "Lens": "person", "kube-controller-manager": "controller",
		"horizontal-pod-autoscaler": "autoscaler", "keda-operator": "autoscaler", "istio-sidecar-injector": "controller", "terraform": "other",
	} {
		assert.Equal(t, class, writer.Class(manager, "Update"), manager)
	}
	assert.Equal(t, "apply", writer.Class("flux", "Apply"))
	assert.Equal(t, "person", writer.Class("kubectl", "Apply"))
}
