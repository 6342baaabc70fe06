//go:build peers

package tosca_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"holdfast.dev/holdfast/pkg/tosca"
)

// refusedOnPurpose contains the templates that the peer accepts and Translate rejects. The values name the
// point of "Differences to Krake" in docs/tosca.md that gives the reason.
var refusedOnPurpose = map[string]string{
	"an-input-without-default-and-value":                     "an input without value and default",
	"several-inputs-without-default-and-value":               "an input without value and default",
	"a-default-that-breaks-a-constraint":                     "a value that breaks a constraint",
	"an-integer-that-is-too-large":                           "numbers that no manifest can have",
	"a-spec-that-is-empty":                                   "a spec that is no manifest",
	"a-spec-that-is-not-yaml":                                "a spec that is no manifest",
	"a-spec-that-is-no-manifest":                             "a spec that is no manifest",
	"a-sensitive-value-that-breaks-its-manifest-is-not-told": "a spec that is no manifest",
	"functions-that-need-a-running-deployment":               "functions",
	"functions-with-wrong-arguments":                         "functions",
	"duplicate-keys":                                         "a key that is there twice",
	"requirements-that-make-a-loop":                          "requirements that make a loop",
	"a-requirement-on-itself":                                "requirements that make a loop",
	"a-loop-beside-requirements-that-are-met":                "requirements that make a loop",
	"numbers-that-no-manifest-can-have":                      "a spec that is no manifest",
	"nodes-of-the-wrong-shape":                               "a template without nodes",
	"no-topology":                                            "a template without nodes",
	"no-nodes":                                               "a template without nodes",
	"broken-constraints":                                     "constraints that are not valid",
	"get-input-of-an-input-that-is-not-declared":             "inputs that are not declared",
	"get-input-of-a-name-that-is-nearly-right":               "inputs that are not declared",
	"a-node-that-is-no-kubernetes-object":                    "other nodes",
	"a-default-of-a-field-that-its-data-type-does-not-take":  "a value that breaks a constraint",
}

// peerTypes defines the types that the peer does not know.
const peerTypes = `tosca_definitions_version: tosca_simple_yaml_1_0
node_types:
  tosca.nodes.indigo.KubernetesObject:
    derived_from: tosca.nodes.Root
    properties: {spec: {type: string, required: true}}
    requirements: [{host: {capability: tosca.capabilities.Container, node: tosca.nodes.Compute, occurrences: [0, UNBOUNDED]}}]
  tosca.nodes.indigo.LRMS.FrontEnd.Kubernetes:
    derived_from: tosca.nodes.Root
    properties: {admin_token: {type: string, required: false}}
`

const peer = `
import re, sys, urllib.error, urllib.parse, urllib.request
from toscaparser.tosca_template import ToscaTemplate
try:
    ToscaTemplate(sys.argv[1])
except Exception as problem:
    text = str(problem)
    print(type(problem).__name__, "; ".join(re.findall(r"^\t\t((?!File )\w.*)$", text, re.M)) or text)
    sys.exit(1)
`

// TestPeer passes every template of the tests to Debian's python3-tosca-parser. If the peer accepts a
// template, Translate must accept it, too, unless refusedOnPurpose gives a reason.
func TestPeer(t *testing.T) {
	python, err := exec.LookPath("/usr/bin/python3")
	require.NoError(t, err)
	require.NoError(t, exec.Command(python, "-c", "import toscaparser").Run(), "apt install python3-tosca-parser")
	accepted := 0
	for name, data := range peerTemplates(t) {
		t.Run(name, func(t *testing.T) {
			template, ok := withPeerTypes(data)
			if !ok {
				return // not even YAML
			}
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "types.yaml"), []byte(peerTypes), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "t.yaml"), template, 0o644))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // the peer has endless loops
			defer cancel()
			problems, err := exec.CommandContext(ctx, python, "-W", "ignore", "-c", peer, filepath.Join(dir, "t.yaml")).CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				t.Logf("the peer refuses %s: %s", name, bytes.TrimSpace(problems))
				return
			}
			require.NoError(t, err)
			accepted++
			_, err = tosca.Translate(t.Context(), source(string(data)), nil, tosca.Options{IgnoreForeignNodes: refusedOnPurpose[name] != "other nodes"})
			if why := refusedOnPurpose[name]; why != "" {
				assert.Error(t, err, "it is not refused any more: %s", why)
				return
			}
			assert.NoError(t, err)
		})
	}
	assert.Greater(t, accepted, 10, "or it is not a comparison")
	t.Logf("the peer accepts %d", accepted)
}

func peerTemplates(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	files, err := filepath.Glob(filepath.Join(goldenRoot, "*", "template.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "inputs.yaml")); err == nil {
			continue // the peer gets no inputs
		}
		all[filepath.Base(filepath.Dir(file))], err = os.ReadFile(file)
		require.NoError(t, err)
	}
	archive, err := txtar.ParseFile(errorsFile)
	require.NoError(t, err)
	inputs := map[string]bool{}
	for _, file := range archive.Files {
		inputs[strings.TrimSuffix(file.Name, ".inputs")] = true
	}
	for _, file := range archive.Files {
		if name, isTemplate := strings.CutSuffix(file.Name, ".yaml"); isTemplate && !inputs[name] {
			all[name] = file.Data
		}
	}
	return all
}

// laterVersions matches the versions that the peer does not know. It knows all features of them that the
// templates use.
var laterVersions = regexp.MustCompile(`tosca_simple_yaml_1_[123]`)

// withPeerTypes imports the types from a file instead of a URL.
func withPeerTypes(data []byte) ([]byte, bool) {
	var document yaml.Node
	if yaml.Unmarshal(data, &document) != nil || len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return nil, false
	}
	data = laterVersions.ReplaceAll(data, []byte("tosca_simple_yaml_1_0"))
	var lines []string
	inImports := false
	for line := range strings.SplitSeq(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "imports:"):
			inImports = strings.Contains(string(data), "custom_types.yaml")
			if !inImports {
				return data, true // the template depends on its imports
			}
			continue
		case inImports && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-")):
			continue
		}
		inImports = false
		lines = append(lines, line)
	}
	return append(bytes.TrimRight([]byte(strings.Join(lines, "\n")), "\n"), "\nimports: [types.yaml]\n"...), true
}
