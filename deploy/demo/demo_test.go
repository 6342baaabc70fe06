package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

func decideExample(t *testing.T, live map[manifest.ID]map[string]any) *plan.Plan {
	t.Helper()
	raw, err := os.ReadFile("../../examples/echo-demo.yaml")
	require.NoError(t, err)
	app := &v1alpha1.Application{}
	require.NoError(t, yaml.UnmarshalStrict(raw, app))
	assert.Equal(t, application, app.Name)
	assert.Equal(t, namespace, app.Namespace)
	return plan.Decide(plan.Input{Application: app, Live: live, Kinds: intent.Offline()})
}

func TestExampleMatchesDemo(t *testing.T) {
	p := decideExample(t, nil)
	require.Nil(t, p.Invalid)
	assert.Empty(t, p.Warnings)
	require.Len(t, p.Changes, 2)
	for _, change := range p.Changes {
		assert.Equal(t, plan.Create, change.Action, "%s", change.ID)
		assert.Equal(t, application, change.ID.Name)
	}
	service, deployment := p.Changes[0], p.Changes[1]
	assert.Equal(t, "Service", service.ID.Kind)
	assert.True(t, imageIs(image).holds(&unstructured.Unstructured{Object: deployment.Manifest}))
}

func TestExampleHoldsOnlyImage(t *testing.T) {
	live := map[manifest.ID]map[string]any{}
	for _, change := range decideExample(t, nil).Changes {
		live[change.ID] = change.Manifest
		if change.ID.Kind == "Deployment" {
			drift(t, change.Manifest)
		}
	}
	var patched []string
	for _, change := range decideExample(t, live).Changes {
		for _, op := range change.Patch {
			patched = append(patched, change.ID.Kind+" "+op.Path)
		}
	}
	assert.Equal(t, []string{"Deployment /spec/template/spec/containers/0/image"}, patched)
}

func drift(t *testing.T, deployment map[string]any) {
	t.Helper()
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, err := unstructured.NestedSlice(deployment, path...)
	require.NoError(t, err)
	containers[0].(map[string]any)["image"] = otherImage
	require.NoError(t, unstructured.SetNestedSlice(deployment, containers, path...))
	require.NoError(t, unstructured.SetNestedField(deployment, int64(3), "spec", "replicas"))
}

func TestFoldAtSpaces(t *testing.T) {
	for _, row := range []struct{ name, line, folded string }{
		{"a line that fits is left alone", "  1234 6789", "  1234 6789"},
		{"a longer one is broken before the word that does not fit", "123 567 9 11 13", "123 567 9|  11 13"},
		{"spaces at the break go", "12345     12345", "12345|  12345"},
		{"a word is never broken", "  1234567890123 5", "  1234567890123 5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, strings.ReplaceAll(row.folded, "|", "\n"), fold(row.line, 11, "  "))
		})
	}
}

// `make down` must work without delay, even if nothing is built.
func TestMakeDownCompilesNothing(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "make", "--directory=../..", "--dry-run", "down").CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.NotRegexp(t, `\bgo (run|build)\b`, string(output))
	assert.Contains(t, string(output), "bin/demo down")
}
