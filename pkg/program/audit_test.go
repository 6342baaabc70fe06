package program

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/controller"
)

// gate forwards connections to an address while it is open, and lets them wait while it is closed.
type gate struct {
	listener net.Listener

	mu   sync.Mutex
	open *sync.Cond
	to   string // empty while closed
	// through contains both ends of each connection
	through []net.Conn
}

func newGate(t *testing.T) *gate {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := &gate{listener: listener}
	g.open = sync.NewCond(&g.mu)
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go g.connect(from)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		g.lead("nowhere")
	})
	return g
}

func (g *gate) connect(from net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.to == "" {
		g.open.Wait()
	}
	to, err := new(net.Dialer).Dial("tcp", g.to)
	if err != nil {
		_ = from.Close()
		return
	}
	g.through = append(g.through, from, to)
	for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			_ = pair[0].Close()
		}()
	}
}

// lead closes all connections and forwards new ones to an address.
func (g *gate) lead(to string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.through {
		_ = c.Close()
	}
	g.to, g.through = to, nil
	g.open.Broadcast()
}

// documented returns the block of docs/operations.md with that beginning, without its indentation.
func documented(t *testing.T, beginning string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(text), "   ```yaml\n   "+strings.ReplaceAll(beginning, "\n", "\n   "))
	require.True(t, found)
	block, _, _ := strings.Cut(beginning+after, "   ```")
	return strings.ReplaceAll(block, "\n   ", "\n")
}

// audited starts a control plane that sends its audit events through a gate, configured as in
// docs/operations.md, and a controller that receives them. The client certificate of the API server is in
// the files client.crt and client.key.
func audited(t *testing.T) (c *testcluster.Cluster, p *process, g *gate, m *mount, again func() *process) {
	t.Helper()
	g, m = newGate(t), &mount{t: t, dir: t.TempDir()}
	server, serverKey := issued(t)
	client, clientKey := issued(t)
	m.write(map[string]string{"tls.crt": server, "tls.key": serverKey, "client.crt": client, "client.key": clientKey, "token": "a-token-of-an-API-server\n"})
	kubeconfig := strings.NewReplacer("ADDRESS", g.listener.Addr().String(), "/etc/kubernetes/holdfast/ca.crt", m.file("tls.crt"),
		"/etc/kubernetes/holdfast/tls.crt", m.file("client.crt"), "/etc/kubernetes/holdfast/tls.key", m.file("client.key")).Replace(documented(t, "apiVersion: v1\nkind: Config\n"))
	kubeconfig = strings.Replace(kubeconfig, "{client-certificate", "{token: a-token-of-an-API-server, client-certificate", 1)
	policy := documented(t, "apiVersion: audit.k8s.io/v1\n")
	require.True(t, strings.HasSuffix(policy, "- level: None\n"))
	policy = strings.TrimSuffix(policy, "- level: None\n") + "- level: Metadata\n" // for the log of the test
	policy = strings.Replace(policy, "- level: None\n  resources: [{group: \"\", resources: [secrets]}]", "- level: RequestResponse\n  resources: [{group: \"\", resources: [secrets]}]", 1)

	c, err := testcluster.Start(t.Context(), testcluster.Options{AuditWebhook: &testcluster.AuditWebhook{Policy: policy, Kubeconfig: kubeconfig, Wait: 200 * time.Millisecond}})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	require.NoError(t, define(t.Context(), c))
	again = func() *process {
		p := start(t, c, "--leader-elect=false", "--audit-webhook-bind-address=127.0.0.1:0",
			"--audit-webhook-tls-cert-file="+m.file("tls.crt"), "--audit-webhook-tls-private-key-file="+m.file("tls.key"),
			"--audit-webhook-client-ca-file="+m.file("client.crt"), "--audit-webhook-token-file="+m.file("token"))
		p.Says(leads)
		return p
	}
	p = again()
	g.lead(p.Address("Receiving audit events"))
	return c, p, g, m, again
}

// history returns the history of an Application, newest first.
func history(t *testing.T, c *testcluster.Cluster, namespace, name string) []v1alpha1.HistoryEntry {
	t.Helper()
	var app v1alpha1.Application
	require.NoError(t, json.Unmarshal([]byte(kubectl(t, c, "", "get", "application", name, "-n", namespace, "--output=json")), &app))
	return app.Status.History
}

// The API server reports who changed an object, either before the correction or later. In the latter case
// there is at most one additional status update. Users who change Secrets are not reported.
func TestUserNameInHistory(t *testing.T) {
	t.Parallel()
	c, p, g, m, again := audited(t)
	namespace := c.Namespace(t)
	inNamespace(t, c, namespace)
	submit(t, c, namespace, "app", "")
	kubectl(t, c, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: secret}, spec: {manifest: [{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: {key: ours}}]}}`,
		"apply", "--server-side", "-n", namespace, "--filename=-")
	awaitReady(t, c, namespace, "app")
	awaitReady(t, c, namespace, "secret")
	as := func(user string, args ...string) {
		t.Helper()
		kubectl(t, c, "", append([]string{"--as=" + user, "--as-group=system:masters", "-n", namespace}, args...)...)
	}
	change := func(user, to string) {
		t.Helper()
		as(user, "patch", "configmap", "app", "--type=merge", `--patch={"data":{"key":"`+to+`"}}`)
	}
	newest := func(what string, holds func(e v1alpha1.HistoryEntry) bool) (e v1alpha1.HistoryEntry) {
		t.Helper()
		p.until(what, func() bool {
			e = history(t, c, namespace, "app")[0]
			return holds(e)
		})
		return e
	}
	named := func(user string) func(v1alpha1.HistoryEntry) bool {
		return func(e v1alpha1.HistoryEntry) bool { return e.User == user }
	}

	change("mallory", "one")
	e := newest("mallory's name", named("mallory"))
	assert.Equal(t, []string{"Corrected", "data.key", "kubectl-patch", "127.0.0.1"}, []string{string(e.Outcome), e.Path, e.Manager, e.SourceIP})
	assert.NotEmpty(t, e.Impersonator, "who really did it")
	assert.Nil(t, e.PendingUser)

	// A dry run, and a request that changes nothing, are not reported as changes.
	as("bob", "patch", "configmap", "app", "--type=merge", "--dry-run=server", `--patch={"data":{"key":"one"}}`)
	as("bob", "delete", "configmap", "app", "--dry-run=server")
	as("mallory", "delete", "configmap", "app", "--wait=false")
	e = newest("who deleted it", func(e v1alpha1.HistoryEntry) bool { return e.Outcome == v1alpha1.OutcomeRestored && e.User != "" })
	assert.Equal(t, "mallory", e.User)

	// A change of a Secret, followed by another event. When that one has arrived, the first one has, too.
	as("mallory", "patch", "secret", "login", "--type=merge", `--patch={"stringData":{"key":"theirs"}}`)
	p.until("the Secret's correction", func() bool { return history(t, c, namespace, "secret")[0].Outcome == v1alpha1.OutcomeCorrected })
	change("alice", "two")
	newest("alice's name", named("alice"))
	for _, e := range history(t, c, namespace, "secret") {
		assert.Empty(t, e.User)
		assert.Nil(t, e.PendingUser)
	}

	// If the name arrives late, there is one status update for the correction, and one for the name.
	g.lead("")
	mark := c.Mark()
	change("carol", "three")
	e = newest("an entry without a name", func(e v1alpha1.HistoryEntry) bool { return e.PendingUser != nil })
	assert.Empty(t, e.User)
	g.lead(p.Address("Receiving audit events"))
	e = newest("carol's name", named("carol"))
	assert.Nil(t, e.PendingUser)
	assert.Len(t, history(t, c, namespace, "app"), 5, "and it is the same entry")
	isWrite := func(resource, subresource string) func(testcluster.Request) bool {
		return func(r testcluster.Request) bool { return r.Resource == resource && r.Subresource == subresource }
	}
	requests := since(t, c, mark)
	assert.Len(t, requests.Writes().Where(isWrite("configmaps", "")), 1, requests)
	assert.Len(t, requests.Writes().Where(isWrite("applications", "status")), 2, requests)

	// Repeated events have no effect, and other clients are rejected.
	mark = c.Mark()
	address := p.Address("Receiving audit events")
	for _, row := range []struct {
		name, cert, key, token string
		code                   int // 0: no response
	}{
		{"an API server", "client.crt", "client.key", "a-token-of-an-API-server", http.StatusOK},
		{"without its token", "client.crt", "client.key", "", http.StatusUnauthorized},
		{"with the server's own certificate", "tls.crt", "tls.key", "a-token-of-an-API-server", 0},
		{"without a certificate", "", "", "a-token-of-an-API-server", 0},
	} {
		config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // who asks is tested, not who answers
		if row.cert != "" {
			pair, err := tls.LoadX509KeyPair(m.file(row.cert), m.file(row.key))
			require.NoError(t, err)
			config.Certificates = []tls.Certificate{pair}
		}
		body := fmt.Sprintf(`{"items": [{"stage": "ResponseComplete", "verb": "patch", "requestURI": "/", "user": {"username": "eve"},
  "responseStatus": {"code": 200}, "responseObject": {"metadata": {"uid": %q, "resourceVersion": "1"}}}]}`, e.Resource.Name)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address, bytes.NewBufferString(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+row.token)
		client := http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		response, err := client.Do(request)
		if err == nil {
			assert.Equal(t, row.code, response.StatusCode, row.name)
			require.NoError(t, response.Body.Close())
		}
		assert.Equal(t, row.code == 0, err != nil, "%s: %v", row.name, err)
	}
	assert.Empty(t, since(t, c, mark))
	_, metrics := p.Get("/metrics")
	for result, atLeast := range map[string]int{"joined": 4, "dropped": 1, "received": 5} {
		_, rest, _ := strings.Cut(metrics, `holdfast_audit_events_total{result="`+result+`"} `)
		count, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(count)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, n, atLeast, result)
	}
	assert.NotContains(t, p.Log(), "theirs")

	// If the process ends between a change and the name, the next process looks it up.
	g.lead("")
	change("dave", "four")
	newest("an entry without a name", func(e v1alpha1.HistoryEntry) bool { return e.PendingUser != nil })
	p.Signal(syscall.SIGTERM)
	p.Ends()
	p = again()
	g.lead(p.Address("Receiving audit events"))
	newest("dave's name", named("dave"))
}

// Certificates and the token are reloaded at runtime. If the new ones are invalid, the old ones stay in
// use.
func TestAuditWebhookFilesAreReloaded(t *testing.T) {
	m := &mount{t: t, dir: t.TempDir()}
	files := func() map[string]string {
		server, serverKey := issued(t)
		client, clientKey := issued(t)
		return map[string]string{"tls.crt": server, "tls.key": serverKey, "client.crt": client, "client.key": clientKey, "token": "the-first-token-of-all"}
	}
	first := files()
	m.write(first)
	f := &auditFlags{address: "127.0.0.1:0", certFile: m.file("tls.crt"), keyFile: m.file("tls.key"), clientCA: m.file("client.crt"), tokenFile: m.file("token")}
	require.NoError(t, f.apply(&controller.Options{}))
	greets := func(with map[string]string) bool {
		t.Helper()
		pair, err := tls.X509KeyPair([]byte(with["client.crt"]), []byte(with["client.key"]))
		require.NoError(t, err)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(with["tls.crt"]))
		listener, err := tls.Listen("tcp", "127.0.0.1:0", f.tls())
		require.NoError(t, err)
		defer func() { _ = listener.Close() }()
		go func() {
			if server, err := listener.Accept(); err == nil {
				_, _ = server.Write([]byte("welcome")) // sent only after client authentication
				_ = server.Close()
			}
		}()
		client, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
		if err != nil {
			return false
		}
		defer func() { _ = client.Close() }()
		said, _ := io.ReadAll(client)
		return string(said) == "welcome"
	}
	require.True(t, greets(first))

	second := files()
	second["token"] = "the-second-token-of-all"
	m.write(second)
	require.True(t, greets(first), "no lookup yet")
	require.NoError(t, f.refresh(t.Context()))
	assert.True(t, greets(second))
	assert.False(t, greets(first))
	assert.Equal(t, second["token"], string(*f.token.Load()))

	broken := files()
	broken["tls.crt"], broken["token"], broken["client.crt"] = "nothing", "short", second["client.crt"]
	m.write(broken)
	require.Error(t, f.refresh(t.Context()))
	assert.True(t, greets(second), "what is wrong changes nothing")
	assert.Equal(t, second["token"], string(*f.token.Load()))
}
