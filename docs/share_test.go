package docs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// theirObjects are the objects that the recipes in docs/share.md share.
const theirObjects = `
- apiVersion: apps/v1
  kind: DaemonSet
  metadata: {name: aws-node, namespace: kube-system}
  spec: {template: {spec: {containers: [{name: init, image: "init:1"}, {name: aws-node, image: "cni:1", env: [{name: WARM_IP_TARGET, value: "5"}]}]}}}
- {apiVersion: v1, kind: Service, metadata: {name: made-by-a-chart, namespace: shop, annotations: {chart: theirs}}, spec: {ports: [{port: 80}]}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop}
  spec: {replicas: 2, template: {spec: {containers: [{name: web, image: "web:1", env: [{name: LEVEL, value: info}]}]}}}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: view-all}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: theirs}]
`

// Each recipe of docs/share.md that names objects holds the listed fields, and patches nothing else.
func TestTheRecipesOfSharing(t *testing.T) {
	held := map[string]string{
		"warm-pool": "spec.template.spec.containers[name=aws-node].env[name=WARM_IP_TARGET].value",
		"shop":      "metadata.annotations['example.com/team']",
		"security":  "spec.template.spec.securityContext",
		"tracing":   "spec.template.spec.containers[name=web].env[name=TRACES]",
		"replicas":  "spec.replicas",
		"elements":  "subjects[{kind=Group,name=support}]",
	}
	seen := map[string]bool{}
	for _, block := range facts.Blocks(read(t, "docs/share.md"), "yaml") {
		if first, rest, _ := strings.Cut(block, "\n"); strings.HasPrefix(first, "# ") {
			block = rest // without the name of the file
		}
		if !strings.HasPrefix(block, "apiVersion") {
			continue // an excerpt of an Application
		}
		for _, text := range strings.Split(block, "\n---\n") {
			app := &v1alpha1.Application{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), app), text)
			want, known := held[app.Name]
			if !known {
				continue
			}
			seen[app.Name] = true
			in := plan.Input{Application: app, Kinds: intent.Offline(), Live: map[manifest.ID]map[string]any{}}
			var objects []map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(theirObjects), &objects))
			for _, object := range objects {
				if id, ok := manifest.Identify(object, "default", in.Kinds); ok {
					in.Live[id] = object
				}
			}
			p := plan.Decide(in)
			require.Nil(t, p.Invalid, text)
			var paths []string
			for _, c := range p.Changes {
				if !c.Shared {
					continue
				}
				assert.Equal(t, "hold", c.Verb(), text)
				for _, d := range c.Fields {
					paths = append(paths, d.Path)
				}
			}
			assert.Equal(t, []string{want}, paths, text)
		}
	}
	assert.Len(t, seen, len(held))
}
