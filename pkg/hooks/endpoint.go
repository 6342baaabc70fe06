package hooks

import (
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Pending is the address of a Service that has no address yet.
const Pending = "<pending>"

// Address listens to ResourcePostCreate, ResourcePostUpdate and ResourceObserved. It sets the address
// of a Service.
func Address(s *ObjectEvent) error {
	if s.ID.Group == "" && s.ID.Kind == "Service" {
		s.Address = Endpoint(s.Live)
	}
	return nil
}

// Endpoint returns the address at which clients reach a live Service, as host:port with its first port:
//
//	type          address
//	LoadBalancer  IP or host name that the balancer has; <pending> until it has one
//	NodePort      <node>:port, with the port of the nodes
//	ExternalName  the name
//	others        name.namespace.svc, in the cluster
func Endpoint(service map[string]any) string {
	port := firstPort(service, "port")
	switch manifest.NestedString(service, "spec", "type") {
	case "LoadBalancer":
		host := ingressHost(service)
		if host == "" {
			return Pending
		}
		return join(host, port)
	case "NodePort":
		return join("<node>", firstPort(service, "nodePort"))
	case "ExternalName":
		return join(manifest.NestedString(service, "spec", "externalName"), port)
	}
	name, namespace := manifest.NestedString(service, "metadata", "name"), manifest.NestedString(service, "metadata", "namespace")
	return join(name+"."+namespace+".svc", port)
}

// ingressHost returns the first address of a load balancer, or "". In one ingress, the IP has precedence.
func ingressHost(service map[string]any) string {
	for _, ingress := range manifest.NestedMaps(service, "status", "loadBalancer", "ingress") {
		for _, key := range []string{"ip", "hostname"} {
			if host, _ := ingress[key].(string); host != "" {
				return host
			}
		}
	}
	return ""
}

// firstPort returns a port number of a Service's first port, or "".
func firstPort(service map[string]any, field string) string {
	ports := manifest.NestedMaps(service, "spec", "ports")
	if len(ports) == 0 {
		return ""
	}
	switch n := ports[0][field].(type) {
	case int64:
		return strconv.FormatInt(n, 10)
	case float64:
		return strconv.FormatInt(int64(n), 10)
	}
	return ""
}

// join returns host:port, with an IPv6 address in brackets. It returns only the host if the port is empty.
func join(host, port string) string {
	if port == "" {
		return host
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}
