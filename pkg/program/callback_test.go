package program

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/internal/testcluster"
)

// issued returns a self-signed certificate for 127.0.0.1 and its key.
func issued(t *testing.T) (certificate, key string) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// submitWork creates an Application with a complete hook.
func submitWork(t *testing.T, c *testcluster.Cluster, namespace string) {
	t.Helper()
	kubectl(t, c, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: work}, spec: {hooks: {complete: {action: Keep}},
  manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: work}}]}}`, "apply", "--server-side", "-n", namespace, "--filename=-")
}

// told returns the value that a callback has sent: a key of the Secret with the callbacks, or "".
func told(t *testing.T, c *testcluster.Cluster, namespace, key string) string {
	t.Helper()
	output := kubectl(t, c, "", "get", "secret", "work-hooks", "-n", namespace, "--ignore-not-found", "--output=json")
	var secret struct{ Data map[string][]byte }
	if output != "" {
		require.NoError(t, json.Unmarshal([]byte(output), &secret))
	}
	return string(secret.Data[key])
}

// completion returns a function that sends the complete callback to the process.
func (p *process) completion(c *testcluster.Cluster, namespace string) func() (code int, err error) {
	p.t.Helper()
	scheme, _, _ := strings.Cut(told(p.t, c, namespace, "complete-url"), "://")
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM([]byte(told(p.t, c, namespace, "ca.crt")))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPut,
		scheme+"://"+p.Address("Serving callbacks")+"/v1/applications/"+namespace+"/work/complete", http.NoBody)
	require.NoError(p.t, err)
	request.Header.Set("Authorization", "Bearer "+told(p.t, c, namespace, "complete-token"))
	return func() (int, error) {
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
}

// completes sends the complete callback and waits until the status contains it.
func (p *process) completes(c *testcluster.Cluster, namespace string) {
	p.t.Helper()
	p.until("a token", func() bool { return told(p.t, c, namespace, "complete-token") != "" })
	p.until("a callback", func() bool {
		code, err := p.completion(c, namespace)()
		return err == nil && code == http.StatusOK
	})
	awaitTrue(p.t, c, namespace, "work", "Completed")
}

// Certificate files are reloaded at runtime together with their bundle, and workloads with the new bundle
// can call.
func TestCertificateFilesAreReloaded(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	m := &mount{t: t, dir: t.TempDir()}
	first, key := issued(t)
	m.write(map[string]string{"tls.crt": first, "tls.key": key, "ca.crt": first})
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace,
		"--callback-bind-address=127.0.0.1:0", "--callback-external-url=https://127.0.0.1",
		"--callback-tls-cert-file="+m.file("tls.crt"), "--callback-tls-key-file="+m.file("tls.key"), "--callback-ca-file="+m.file("ca.crt"))
	p.Says(leads)
	tells := func(bundle string) {
		t.Helper()
		p.until("the bundle in the Secret", func() bool { return told(t, c, namespace, "ca.crt") == bundle })
	}
	submitWork(t, c, namespace)
	tells(first)
	p.completes(c, namespace)
	token := told(t, c, namespace, "complete-token")

	second, key := issued(t)
	m.write(map[string]string{"tls.crt": second, "tls.key": key, "ca.crt": first + second})
	tells(first + second)
	p.completes(c, namespace)
	assert.Equal(t, token, told(t, c, namespace, "complete-token"))

	m.write(map[string]string{"tls.crt": second, "tls.key": key, "ca.crt": "soon"})
	p.Says(m.file("ca.crt") + " has no certificate")
	m.write(map[string]string{"tls.crt": second, "tls.key": key, "ca.crt": second})
	tells(second)
	p.completes(c, namespace)
	assert.NotContains(t, p.Log(), "PLAIN HTTP")

	p.Signal(syscall.SIGTERM)
	assert.Equal(t, 0, p.Ends(), p.Log())
	t.Run("and an error in them is logged at startup, in the format of the log", func(t *testing.T) {
		p := start(t, c, "--leader-elect=false", "--logging-format=json", "--callback-bind-address=127.0.0.1:0",
			"--callback-tls-cert-file="+m.file("tls.crt"), "--callback-tls-key-file="+filepath.Join(m.dir, "nowhere.key"))
		assert.Equal(t, 1, p.Ends())
		assert.Contains(t, p.Log(), "nowhere.key")
		for line := range strings.Lines(p.Log()) {
			assert.True(t, json.Valid([]byte(line)), "%s", line)
		}
	})
}

// Plain HTTP works for development, and the log warns about it.
func TestPlainHTTPCallbacksAreLogged(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace,
		"--callback-bind-address=127.0.0.1:0", "--callback-external-url=http://127.0.0.1", "--callback-insecure-http")
	p.Says("CALLBACKS ARE SERVED OVER PLAIN HTTP: anyone on the network can read tokens")
	p.Says(leads)
	submitWork(t, c, namespace)
	p.completes(c, namespace)
	assert.Empty(t, told(t, c, namespace, "ca.crt"))
	assert.Equal(t, "http://127.0.0.1/v1/applications/"+namespace+"/work/complete", told(t, c, namespace, "complete-url"))
}

// Certificates from the controller's own authority: callbacks are rejected until it exists.
func TestHooksWaitForCertificateAuthority(t *testing.T) {
	t.Parallel()
	c, namespace := ours(t)
	later := namespace + "-later"
	p := start(t, c, "--leader-elect=false", "--watch-namespaces="+namespace, "--callback-bind-address=127.0.0.1:0", "--callback-external-url=https://127.0.0.1", "--callback-namespace="+later)
	p.Says("No callbacks until this is resolved")
	p.Says(leads)
	submitWork(t, c, namespace)
	eventually(t, "the reason", func() bool {
		return strings.Contains(get(t, c, namespace, applications, "work", "{.status.conditions[*].message}"), "has no certificate yet")
	})
	assert.Empty(t, told(t, c, namespace, "complete-token"))

	kubectl(t, c, "", "create", "namespace", later)
	p.completes(c, namespace)
	authority := kubectl(t, c, "", "get", "secret", "holdfast-callback-ca", "-n", later, `--output=jsonpath={.data.current\.crt}`)
	pemOf, err := base64.StdEncoding.DecodeString(authority)
	require.NoError(t, err)
	assert.Equal(t, string(bytes.TrimSpace(pemOf)), strings.TrimSpace(told(t, c, namespace, "ca.crt")))
}

// A running call gets its response although the process is shutting down.
func TestCallDuringShutdownIsAnswered(t *testing.T) {
	t.Parallel()
	c, namespace := alone(t)
	kubectl(t, c, "", "create", "namespace", "holdfast-system")
	p := start(t, c, "--leader-elect=false", "-v=7", "--callback-bind-address=127.0.0.1:0", "--callback-external-url=https://127.0.0.1")
	submitWork(t, c, namespace)
	p.until("a token", func() bool { return told(t, c, namespace, "complete-token") != "" })
	awaitTrue(t, c, namespace, "work", "Ready")

	complete := p.completion(c, namespace)
	writes := func() int {
		return strings.Count(p.Log(), `verb="PATCH" url="`+c.Config().Host+"/apis/holdfast.dev/v1alpha1/namespaces/"+namespace+"/applications/work?")
	}
	before := writes()
	require.NoError(t, c.Pause(testcluster.APIServer))
	answered := make(chan any, 1)
	go func() {
		code, err := complete()
		if err != nil {
			answered <- err
			return
		}
		answered <- code
	}()
	p.until("the call to be written down", func() bool { return writes() > before })
	p.Signal(syscall.SIGTERM)
	p.Says("Shutting down")
	require.NoError(t, c.Resume(testcluster.APIServer))
	assert.Equal(t, http.StatusOK, <-answered)
	assert.Equal(t, 0, p.Ends(), p.Log())
	assert.NotEmpty(t, get(t, c, namespace, applications, "work", `{.metadata.annotations.holdfast\.dev/completed}`))
}
