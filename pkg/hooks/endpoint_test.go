package hooks_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"holdfast.dev/holdfast/pkg/hooks"
)

func TestEndpoint(t *testing.T) {
	for _, row := range []struct{ name, service, address string }{
		{"in the cluster", `{spec: {type: ClusterIP, ports: [{port: 80}, {port: 81}]}}`, "web.shop.svc:80"},
		{"without a type", `{spec: {ports: [{port: 80}]}}`, "web.shop.svc:80"},
		{"without ports", `{spec: {clusterIP: None}}`, "web.shop.svc"},
		{"on the nodes", `{spec: {type: NodePort, ports: [{port: 80, nodePort: 30080}]}}`, "<node>:30080"},
		{"by a balancer with an IP", `{spec: {type: LoadBalancer, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}`, "192.0.2.1:80"},
		{"by a balancer with an IPv6 address", `{spec: {type: LoadBalancer, ports: [{port: 80}]}, status: {loadBalancer: {ingress: [{ip: "2001:db8::1"}]}}}`, "[2001:db8::1]:80"},
		{"by a balancer with a host name", `{spec: {type: LoadBalancer, ports: [{port: 443}]}, status: {loadBalancer: {ingress: [{hostname: lb.example.com}]}}}`, "lb.example.com:443"},
		{"by a balancer that is not there yet", `{spec: {type: LoadBalancer, ports: [{port: 80}]}, status: {loadBalancer: {}}}`, "<pending>"},
		{"by a balancer with another answer", `{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{}, text]}}}`, "<pending>"},
		{"outside", `{spec: {type: ExternalName, externalName: db.example.com}}`, "db.example.com"},
	} {
		t.Run(row.name, func(t *testing.T) {
			service := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(row.service), &service))
			service["metadata"] = map[string]any{"name": "web", "namespace": "shop"}
			assert.Equal(t, row.address, hooks.Endpoint(service))
		})
	}
}
