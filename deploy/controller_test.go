package deploy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"holdfast.dev/holdfast/deploy"
	"holdfast.dev/holdfast/internal/testcluster"
)

// program is the controller, built as in Dockerfile.
func program(t *testing.T) string {
	t.Helper()
	depends(t, "../cmd/holdfast-controller", "../pkg", "../internal")
	path := filepath.Join(t.TempDir(), "holdfast-controller")
	output, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", path, "../cmd/holdfast-controller").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// arguments are those of a Deployment, with what the kubelet puts into them.
func arguments(t *testing.T, documents string) []string {
	t.Helper()
	container := deployment(t, documents).Spec.Template.Spec.Containers[0]
	args := make([]string, len(container.Args))
	for i, arg := range container.Args {
		args[i] = strings.ReplaceAll(arg, "$(POD_NAMESPACE)", deploy.Namespace)
	}
	return args
}

// process is the controller as the Deployment runs it, but outside of a Pod.
type process struct {
	t       *testing.T
	cluster *testcluster.Cluster
	// metrics and callbacks are where it serves them.
	metrics, callbacks string
	mark               testcluster.Mark
	// configuration is the mounted file.
	configuration string
}

// run starts the controller with the flags, the configuration and the rights that the
// documents give it, and returns when it serves.
func run(t *testing.T, c *testcluster.Cluster, documents string) *process {
	t.Helper()
	p := &process{t: t, cluster: c, configuration: mounted(t, documents), mark: c.Mark()}
	args := arguments(t, documents)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/etc/holdfast/config.yaml", p.configuration)
	}
	// The same ports on other machines, and here none that is taken.
	args = append(args, "--kubeconfig="+asController(t, c), "--metrics-bind-address=127.0.0.1:0", "--callback-bind-address=127.0.0.1:0")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program(t), args...)
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	addresses := make(chan string, 2)
	var read sync.WaitGroup
	read.Go(func() { follow(t, log, addresses) })
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		read.Wait()
		assert.NoError(t, cmd.Wait(), "the controller stops when it is asked to")
	})
	p.metrics, p.callbacks = <-addresses, <-addresses
	require.NotEmpty(t, p.callbacks, "the controller ended before it served")
	return p
}

// follow prints a log, and finds where metrics are served, and then callbacks. Every
// line is JSON, as the Deployment asks.
func follow(t *testing.T, log io.Reader, addresses chan<- string) {
	t.Helper()
	defer close(addresses)
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		t.Log(lines.Text())
		var line struct{ Msg, Address string }
		assert.NoError(t, json.Unmarshal(lines.Bytes(), &line))
		if strings.HasPrefix(line.Msg, "Serving") && line.Address != "" {
			addresses <- line.Address
		}
	}
}

// mounted is the ConfigMap of the controller as the file that its Pod has.
func mounted(t *testing.T, documents string) string {
	t.Helper()
	var configuration corev1.ConfigMap
	find(t, documents, "ConfigMap", "holdfast-controller", &configuration)
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(configuration.Data["config.yaml"]), 0o600))
	return path
}

// asController is a kubeconfig with a token of the controller's ServiceAccount, and
// nothing else.
func asController(t *testing.T, c *testcluster.Cluster) string {
	t.Helper()
	admin := c.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		Token: strings.TrimSpace(kubectl(t, c, "", "create", "token", "holdfast-controller", "--namespace="+deploy.Namespace, "--duration=1h")),
	}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	return path
}

// exposition is the text of its metrics.
func (p *process) exposition() string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.metrics+"/metrics", http.NoBody)
	require.NoError(p.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return string(text)
}

// callBack has somebody without a token call, as a Pod would: by the name of the
// Service, with the authority that the controller keeps in its Secret.
func (p *process) callBack() {
	p.t.Helper()
	kubectl(p.t, p.cluster, "", "wait", "secret/holdfast-callback-ca", "--for=create", "--timeout=60s", "--namespace="+deploy.Namespace)
	var secret corev1.Secret
	require.NoError(p.t, json.Unmarshal([]byte(kubectl(p.t, p.cluster, "", "get", "secret/holdfast-callback-ca", "--output=json", "--namespace="+deploy.Namespace)), &secret))
	authorities := x509.NewCertPool()
	require.True(p.t, authorities.AppendCertsFromPEM(secret.Data["current.crt"]))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, p.callbacks)
		},
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "https://holdfast-callback.holdfast-system.svc/", http.NoBody)
	require.NoError(p.t, err)
	response, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	assert.GreaterOrEqual(p.t, response.StatusCode, http.StatusBadRequest)
}

// assertNothingWasForbidden looks at what the controller asked with its own rights.
func (p *process) assertNothingWasForbidden() {
	p.t.Helper()
	requests, err := p.cluster.Requests(p.mark)
	require.NoError(p.t, err)
	own := requests.By("holdfast-controller").Where(func(r testcluster.Request) bool { return r.ImpersonatedUser == "" })
	assert.NotEmpty(p.t, own)
	for _, r := range own {
		assert.Equal(p.t, controllerUser, r.User)
	}
	assert.Empty(p.t, own.Where(func(r testcluster.Request) bool { return r.Code == http.StatusForbidden }))
}

// life has an Application created, its drift corrected, and deleted.
func (p *process) life(namespace string) {
	p.t.Helper()
	in := "--namespace=" + namespace
	do := func(stdin string, args ...string) { p.t.Helper(); kubectl(p.t, p.cluster, stdin, append(args, in)...) }
	do(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: app}, spec: {manifest: [
		{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: ours}},
		{apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: ours}},
		{apiVersion: v1, kind: Service, metadata: {name: service}, spec: {ports: [{port: 80}]}}]}}`, "create", "--filename=-")
	do("", "wait", "hfapp/app", "--for=condition=Ready", "--timeout=60s")
	do("", "patch", "configmap/config", "--patch", `{"data": {"key": "theirs"}}`)
	do("", "wait", "configmap/config", "--for=jsonpath={.data.key}=ours", "--timeout=60s")
	do("", "delete", "hfapp/app", "--timeout=60s")
	assert.Equal(p.t, "configmap/kube-root-ca.crt\n", kubectl(p.t, p.cluster, "", "get", "configmaps,secrets,services", "--output=name", in))
}

// applier is the ServiceAccount of a namespace's Applications, with the role edit.
func applier(t *testing.T, c *testcluster.Cluster, namespace string) {
	t.Helper()
	kubectl(t, c, "", "create", "serviceaccount", "holdfast-applier", "--namespace="+namespace)
	kubectl(t, c, "", "create", "rolebinding", "holdfast-applier", "--clusterrole=edit", "--serviceaccount="+namespace+":holdfast-applier", "--namespace="+namespace)
	eventually(t, c, "auth", "can-i", "create", "configmaps", "--as=system:serviceaccount:"+namespace+":holdfast-applier", "--namespace="+namespace)
}

func TestTheControllerWorksWithTheRightsOfTheDefault(t *testing.T) {
	c := testcluster.Shared()
	p := run(t, c, install(t, c, "default", "--all-namespaces"))
	namespace := c.Namespace(t)
	applier(t, c, namespace)

	p.life(namespace)

	kubectl(t, c, "{apiVersion: fnjoin.com/v1, kind: Mysql, metadata: {name: db}}", "create", "--filename=-", "--namespace="+namespace)
	kubectl(t, c, "", "wait", "statefulset/db", "--for=create", "--timeout=60s", "--namespace="+namespace)
	kubectl(t, c, "", "wait", "mysql/db", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=60s", "--namespace="+namespace)
	kubectl(t, c, "", "delete", "mysql/db", "--timeout=60s", "--namespace="+namespace)
	p.callBack()
	kubectl(t, c, "", "wait", "lease/holdfast-controller", "--for=jsonpath={.spec.holderIdentity}", "--timeout=60s", "--namespace="+deploy.Namespace)
	p.assertNothingWasForbidden()

	t.Run("and serves the metrics of the documents", func(t *testing.T) {
		assertDocumented(t, p.exposition())
	})
	t.Run("and those that alerts and the dashboard select", func(t *testing.T) {
		assertSelected(t, p.exposition(), "monitoring/alerts.yaml", "monitoring/dashboard.json")
	})
}

func TestTheControllerWorksWithTheRightsOfSomeNamespaces(t *testing.T) {
	c, err := testcluster.Start(t.Context(), testcluster.Options{ControllerManager: true})
	require.NoError(t, err)
	t.Cleanup(c.Stop)
	for _, namespace := range []string{"shop", "blog"} {
		kubectl(t, c, "", "create", "namespace", namespace)
		applier(t, c, namespace)
	}
	documents := install(t, c, "namespaced", "--namespace=shop")
	for _, verb := range []string{"impersonate", "list"} {
		_, err := c.Kubectl(t.Context(), "", "auth", "can-i", verb, "serviceaccounts", "--as="+controllerUser, "--namespace=blog")
		require.Error(t, err, "%s in a namespace that is not listed", verb)
	}
	kubectl(t, c, `{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: other}, spec: {manifest: []}}`, "create", "--filename=-", "--namespace=blog")
	p := run(t, c, documents)

	p.life("shop")

	assert.Equal(t, `{"observedGeneration":-1}`, kubectl(t, c, "", "get", "hfapp/other", "--namespace=blog", "--output=jsonpath={.status}"))
	p.assertNothingWasForbidden()

	t.Run("and in one that is added while it runs", func(t *testing.T) {
		p.t = t
		kubectl(t, c, kubectl(t, c, "", "kustomize", "rbac/namespace"), "apply", "--server-side", "--filename=-", "--namespace=blog")
		eventually(t, c, "auth", "can-i", "watch", "secrets", "--as="+controllerUser, "--namespace=blog")
		text, err := os.ReadFile(p.configuration)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p.configuration, []byte(strings.Replace(string(text), "[shop]", "[shop, blog]", 1)), 0o600))
		kubectl(t, c, "", "wait", "hfapp/other", "--for=condition=Ready", "--timeout=60s", "--namespace=blog")
		p.life("blog")
		p.assertNothingWasForbidden()
	})
}

// The program is asked for its version: it reads its flags first, and needs no
// cluster.
func TestTheFlagsAreThoseOfTheProgram(t *testing.T) {
	controller := program(t)
	accepts := func(t *testing.T, args []string) {
		t.Helper()
		require.NotEmpty(t, args)
		output, err := exec.CommandContext(t.Context(), controller, append(args, "--version")...).CombinedOutput()
		assert.NoError(t, err, "%s", output)
	}
	for _, directory := range []string{"default", "ha", "namespaced"} {
		t.Run(directory, func(t *testing.T) { accepts(t, arguments(t, build(t, directory))) })
	}
	t.Run("the Helm chart, with every value", func(t *testing.T) {
		text, err := os.ReadFile("../tools/manifests/testdata/everything.golden.yaml")
		require.NoError(t, err)
		accepts(t, arguments(t, string(text)))
	})
}
