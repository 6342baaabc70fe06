package cluster_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/kinds"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// The Go types determine the normal form: a zero in a pointer field and a number in a string are
// significant.
func TestNormalizeBuiltinKinds(t *testing.T) {
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	policy := schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	lease := schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}
	for name, row := range map[string]struct {
		gvk        schema.GroupVersionKind
		want, live string
		is         observer.Spelling
	}{
		"zeros that are omitted": {deployment,
			`{spec: {minReadySeconds: 0, template: {spec: {hostNetwork: false, nodeSelector: {}, volumes: [], hostname: "", containers: [{name: c, env: [{name: E, value: ""}]}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: c, env: [{name: E}]}]}}}}`, observer.Respelled},
		"a zero of a pointer": {deployment, `{spec: {template: {spec: {automountServiceAccountToken: false}}}}`, `{spec: {template: {spec: {}}}}`, observer.Different},
		"quantities": {deployment,
			`{spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 1000m, memory: 1024Mi}, requests: {cpu: 0.5}}}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: "1", memory: 1Gi}, requests: {cpu: 500m}}}]}}}}`, observer.Respelled},
		"an int-or-string":    {deployment, `{spec: {strategy: {rollingUpdate: {maxSurge: "1"}}}}`, `{spec: {strategy: {rollingUpdate: {maxSurge: 1}}}}`, observer.Different},
		"a whole number":      {deployment, `{spec: {replicas: 1.0}}`, `{spec: {replicas: 1}}`, observer.Respelled},
		"a text":              {deployment, `{spec: {template: {spec: {hostname: 1000m}}}}`, `{spec: {template: {spec: {hostname: "1"}}}}`, observer.Different},
		"defaults in a list":  {policy, `{spec: {ingress: [{ports: [{port: 80}]}]}}`, `{spec: {ingress: [{ports: [{port: 80, protocol: TCP}]}]}}`, observer.Respelled},
		"another element":     {policy, `{spec: {ingress: [{ports: [{port: 80}]}]}}`, `{spec: {ingress: [{ports: [{port: 80}]}, {}]}}`, observer.Different},
		"an empty selector":   {policy, `{spec: {ingress: [{from: [{podSelector: {}, namespaceSelector: {}}]}]}}`, `{spec: {ingress: [{from: [{podSelector: {}}]}]}}`, observer.Different},
		"a narrower selector": {policy, `{spec: {ingress: [{from: [{podSelector: {}}]}]}}`, `{spec: {ingress: [{from: [{podSelector: {matchLabels: {a: b}}}]}]}}`, observer.Different},
		"an unknown field":    {policy, `{spec: {unknown: 1}}`, `{spec: {}}`, observer.Different},
		"a time":              {lease, `{spec: {renewTime: "2026-01-01T01:00:00.000000+01:00"}}`, `{spec: {renewTime: "2026-01-01T00:00:00.000000Z"}}`, observer.Respelled},
	} {
		t.Run(name, func(t *testing.T) {
			normal := cluster.Normalize(row.gvk, object(t, row.want))
			require.NotNil(t, normal)
			assert.Equal(t, row.is, observer.SpellingOf(kinds.Builtin(row.gvk), true, normal, object(t, row.live)))
		})
	}
	assert.Nil(t, cluster.Normalize(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Tune"}, map[string]any{}))
	assert.Nil(t, cluster.Normalize(deployment, object(t, `{spec: {replicas: many}}`)), "the API server refuses it")
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	content, err := manifest.DecodeJSON(raw)
	require.NoError(t, err)
	return content
}
