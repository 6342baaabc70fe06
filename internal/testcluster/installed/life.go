package installed

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"holdfast.dev/holdfast/internal/testcluster"
)

// ForSubtest returns the controller for a subtest.
func (p *Controller) ForSubtest(t testing.TB) *Controller {
	t.Helper()
	other := *p
	other.t = t
	return &other
}

// Applier creates a ServiceAccount for a namespace's Applications, with the role edit.
func Applier(t testing.TB, c *testcluster.Cluster, namespace, account string) {
	t.Helper()
	for _, args := range [][]string{
		{"create", "serviceaccount", account, "--namespace=" + namespace},
		{"create", "rolebinding", account, "--clusterrole=edit", "--serviceaccount=" + namespace + ":" + account, "--namespace=" + namespace},
	} {
		_, err := c.Kubectl(t.Context(), "", args...)
		require.NoError(t, err)
	}
	c.AwaitRight(t, "system:serviceaccount:"+namespace+":"+account, testcluster.Right{Verb: "create", Resource: "configmaps", Namespace: namespace})
}

// Apply applies the documents with strict validation, and returns when the controller has the permission to
// watch: in all namespaces, or in one.
func Apply(t testing.TB, c *testcluster.Cluster, documents, in string) {
	t.Helper()
	for _, row := range []struct {
		stdin string
		args  []string
	}{
		{documents, []string{"apply", "--server-side", "--validate=strict", "--filename=-"}},
		{"", []string{"wait", "--for=condition=Established", "--timeout=120s", "crd/applications.holdfast.dev", "crd/mysqls.fnjoin.com"}},
	} {
		_, err := c.Kubectl(t.Context(), row.stdin, row.args...)
		require.NoError(t, err)
	}
	c.AwaitRight(t, "system:serviceaccount:"+Deployment(t, documents).Namespace+":"+name, testcluster.Right{Verb: "watch", Resource: "secrets", Namespace: in})
}

// Eventually waits until kubectl succeeds.
func Eventually(t testing.TB, c *testcluster.Cluster, args ...string) {
	t.Helper()
	var last error
	require.Eventually(t, func() bool {
		_, last = c.Kubectl(t.Context(), "", args...)
		return last == nil
	}, 2*time.Minute, 50*time.Millisecond, "%v: %v", args, &last)
}

// Exposition returns its metrics in text format.
func (p *Controller) Exposition() string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.Metrics+"/metrics", http.NoBody)
	require.NoError(p.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return string(text)
}

// CallBack sends a call without a token, as a Pod would: to the name of the Service, verified with the
// authority in the controller's Secret.
func (p *Controller) CallBack() {
	p.t.Helper()
	p.kubectl("", "wait", "secret/holdfast-callback-ca", "--for=create", "--timeout=120s", "--namespace="+p.namespace)
	var secret corev1.Secret
	require.NoError(p.t, json.Unmarshal([]byte(p.kubectl("", "get", "secret/holdfast-callback-ca", "--output=json", "--namespace="+p.namespace)), &secret))
	authorities := x509.NewCertPool()
	require.True(p.t, authorities.AppendCertsFromPEM(secret.Data["current.crt"]))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.Callbacks)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.callbackURL+"/", http.NoBody)
	require.NoError(p.t, err)
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	assert.GreaterOrEqual(p.t, response.StatusCode, http.StatusBadRequest)
}

// AssertNothingWasForbidden checks that no request with the controller's own permissions was forbidden.
func (p *Controller) AssertNothingWasForbidden() {
	p.t.Helper()
	requests, err := p.cluster.Requests(p.mark)
	require.NoError(p.t, err)
	own := requests.By(name).Where(func(r testcluster.Request) bool { return r.ImpersonatedUser == "" })
	assert.NotEmpty(p.t, own)
	for _, r := range own {
		assert.Equal(p.t, p.User(), r.User)
	}
	assert.Empty(p.t, own.Where(func(r testcluster.Request) bool { return r.Code == http.StatusForbidden }))
}

// Life creates an Application, waits for a correction of drift, sets observe-only mode for a while, and
// deletes the Application.
func (p *Controller) Life(namespace string) {
	p.t.Helper()
	in := "--namespace=" + namespace
	do := func(stdin string, args ...string) string {
		p.t.Helper()
		return p.kubectl(stdin, append(args, in)...)
	}
	do("", "wait", "configmap/kube-root-ca.crt", "--for=create", "--timeout=120s") // created by Kubernetes
	before := do("", "get", "configmaps,secrets,services", "--output=name")
	do(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: life}, spec: {manifest: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}},
		{apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: ours}},
		{apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: 80}]}}]}}`, "create", "--filename=-")
	do("", "wait", "hfapp/life", "--for=condition=Ready", "--timeout=120s")
	do("", "patch", "configmap/config", "--patch", `{"data": {"key": "theirs"}}`)
	do("", "wait", "configmap/config", "--for=jsonpath={.data.key}=ours", "--timeout=120s")
	do("", "patch", "hfapp/life", "--type=merge", "--patch", `{"spec": {"mode": "Observe"}}`)
	do("", "wait", "hfapp/life", "--for=condition=Ready=False", "--timeout=120s")
	do("", "patch", "configmap/config", "--patch", `{"data": {"key": "theirs"}}`)
	do("", "wait", "hfapp/life", "--for=jsonpath={.status.reported[0].path}=data.key", "--timeout=120s")
	do("", "patch", "hfapp/life", "--type=merge", "--patch", `{"spec": {"mode": "Hold"}}`)
	do("", "wait", "configmap/config", "--for=jsonpath={.data.key}=ours", "--timeout=120s")
	do("", "delete", "hfapp/life", "--timeout=120s")
	assert.Equal(p.t, before, do("", "get", "configmaps,secrets,services", "--output=name"))
}
