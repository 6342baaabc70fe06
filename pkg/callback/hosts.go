package callback

import (
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Hosts returns the host names of the server with the given external URL: its host and, for a Service, the shorter
// names. The first one is the host. The error describes why the URL is invalid.
func Hosts(external string) ([]string, error) {
	u, err := url.Parse(external)
	if err == nil && u.User != nil {
		return nil, fmt.Errorf("%s contains a user, which workloads could read", u.Redacted())
	}
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not an address such as https://holdfast-callback.holdfast-system.svc", external)
	}
	host := u.Hostname()
	hosts := []string{host}
	if service, ok := strings.CutSuffix(host, ".svc"); ok {
		hosts = append(hosts, service, host+".cluster.local")
	}
	return hosts, nil
}

// addHosts adds IP addresses and DNS names to the template of a certificate.
func addHosts(template *x509.Certificate, hosts []string) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, host)
	}
}
