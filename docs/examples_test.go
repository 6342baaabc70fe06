package docs_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
)

// No example has a problem in its plan for a cluster without the objects.
func TestExamplesArePlanned(t *testing.T) {
	plans := map[string]string{
		"autoscaler.yaml": "2 to create", "closed-map.yaml": "1 to create", "echo-demo.yaml": "2 to create", "guard/guard.yaml": "1 to create, 1 waiting",
		"mysql.yaml": "6 to create", "observe.yaml": "1 waiting", "own.yaml": "2 to create", "tosca.yaml": "1 to create",
	}
	files, err := filepath.Glob("../examples/*.yaml")
	require.NoError(t, err)
	assert.Len(t, files, len(plans)-1, "all but those in examples/guard")
	for file, want := range plans {
		raw := read(t, "examples/"+file)
		assert.Regexp(t, `^# .*\.\n# .*\.\napiVersion: `, raw, file)
		if file == "mysql.yaml" {
			raw = output(t, raw, 0, "author", "render", "-f", "-", "-o", "application")
		}
		lines := strings.Split(strings.TrimSpace(output(t, raw, 1, "diff", "-f", "-")), "\n")
		assert.Equal(t, "Plan: "+want, lines[len(lines)-1], file)
	}
}

// The page on hooks shows the complete program of examples/embed.
func TestEmbeddingProgramIsOnPage(t *testing.T) {
	_, program, found := strings.Cut(read(t, "examples/embed/main.go"), "package main\n")
	require.True(t, found)
	assert.Contains(t, facts.Blocks(read(t, "docs/hooks.md"), "go"), "package main\n"+program)
}

// output returns the output of a command that reads standard input.
func output(t *testing.T, stdin string, status int, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	require.Equal(t, status, cli.Main(t.Context(), append([]string{"holdfast"}, args...), cli.Streams{
		In: strings.NewReader(stdin), Out: &out, Err: &problems, Getenv: func(string) string { return "" }, Now: time.Now,
	}), "%s%s", &out, &problems)
	return out.String()
}

// Each example corrects and leaves the fields that its comment names.
func TestExamplesHoldFields(t *testing.T) {
	const image = "spec.template.spec.containers[name=web].image"
	for _, row := range []struct {
		file, kind      string
		corrected, left []string
	}{
		{"own.yaml", "Deployment", []string{image, "spec.replicas"}, nil},
		{"own.yaml", "Service", []string{"spec.selector", "spec.sessionAffinity"}, nil},
		{"autoscaler.yaml", "Deployment", []string{image, "spec.template.spec.containers[name=web].resources.requests.cpu"}, []string{"spec.replicas"}},
		{"closed-map.yaml", "ConfigMap", []string{"data.mode", "data.added"}, nil},
		{"echo-demo.yaml", "Deployment", []string{"spec.template.spec.containers[name=echo].image"}, []string{"spec.replicas"}},
		{"guard/guard.yaml", "ConfigMap", []string{"data.mode"}, []string{"data.added"}},
	} {
		raw, err := os.ReadFile("../examples/" + row.file)
		require.NoError(t, err)
		app := &v1alpha1.Application{}
		require.NoError(t, yaml.UnmarshalStrict(raw, app))
		paths := corrected(t, app)[row.kind]
		for _, path := range row.corrected {
			assert.Contains(t, paths, path, row.file)
		}
		for _, path := range row.left {
			assert.NotContains(t, paths, path, row.file)
		}
	}
}

func TestTutorialShowsExample(t *testing.T) {
	raw := read(t, "examples/guard/guard.yaml")
	_, example, found := strings.Cut(raw, "apiVersion")
	require.True(t, found)
	assert.Contains(t, facts.Blocks(read(t, "docs/tutorial.md"), "yaml"), "apiVersion"+example)
}
