package health

import (
	"os"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/expression"
	"holdfast.dev/holdfast/pkg/manifest"
)

func TestBuiltinHealthOfUpstreamSamples(t *testing.T) {
	text, err := os.ReadFile("../../testdata/health/samples.yaml")
	require.NoError(t, err)
	var samples []struct {
		From, Health string
		Object       map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &samples))
	current := map[schema.GroupKind]bool{}
	for _, sample := range samples {
		live, err := manifest.DecodeJSON(manifest.EncodeJSON(sample.Object))
		require.NoError(t, err)
		health, message := Compute(&v1alpha1.Application{}, live)
		assert.Equal(t, sample.Health, health, "%s: %s", sample.From, message)
		object := unstructured.Unstructured{Object: live}
		current[object.GroupVersionKind().GroupKind()] = health == Current || current[object.GroupVersionKind().GroupKind()]

		delete(live, "status")
		health, _ = Compute(&v1alpha1.Application{}, live)
		assert.Equal(t, "InProgress", health, "%s without a status", sample.From)
		early, err := status.Compute(&object)
		require.NoError(t, err)
		assert.Equal(t, status.CurrentStatus, early.Status, "%s needs no expression", sample.From)
	}
	for gk, check := range builtinChecks {
		assert.True(t, current[gk], "%s has no sample that is current", gk)
		for _, text := range []string{check.InProgress, check.Failed, check.Current} {
			if text != "" {
				assert.NoError(t, expression.CheckPredicate(text), gk)
			}
		}
	}
}
