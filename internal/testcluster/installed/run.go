package installed

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

// building is held while a program is built.
var building sync.Mutex

// Program builds a program of the product, such as holdfast-controller, with the flags of the image. All
// tests of a binary that uses testcluster.Main share the result.
func Program(t testing.TB, name string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	path := filepath.Join(testcluster.Scratch(t), name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	root, err := binaries.Root()
	require.NoError(t, err)
	for _, directory := range []string{"cmd/" + name, "pkg", "internal", "deploy"} {
		Depends(t, filepath.Join(root, directory))
	}
	output, err := exec.CommandContext(t.Context(), "go", "-C", root, "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/"+name).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return path
}

// Depends reads a directory that a started program depends on, so that the go command does not use a cached
// test result that is older than its files.
func Depends(t testing.TB, directory string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(directory, func(_ string, _ fs.DirEntry, err error) error { return err }))
}

// Controller is a process of the controller.
type Controller struct {
	t         testing.TB
	cluster   *testcluster.Cluster
	namespace string
	// callbackURL is the address that workloads call.
	callbackURL string
	mark        testcluster.Mark
	// Metrics and Callbacks are the addresses of its servers.
	Metrics, Callbacks string
	// Configuration is the mounted file.
	Configuration string
	// Stop ends the process. The end of the test does the same.
	Stop func()
}

// Run starts the controller with the flags, the configuration and the permissions in the documents. It
// returns when the controller serves.
func Run(t testing.TB, c *testcluster.Cluster, documents string) *Controller {
	t.Helper()
	return RunOne(t, c, documents, name)
}

// RunOne is like Run, for the Deployment of one of several controllers.
func RunOne(t testing.TB, c *testcluster.Cluster, documents, deployment string) *Controller {
	t.Helper()
	d := NamedDeployment(t, documents, deployment)
	p := &Controller{t: t, cluster: c, namespace: d.Namespace, mark: c.Mark(), Configuration: mounted(t, documents)}
	args := Arguments(d)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "/etc/holdfast/config.yaml", p.Configuration)
	}
	args = append(args, "--kubeconfig="+p.kubeconfig(), "--leader-elect-resource-namespace="+p.namespace, "--callback-namespace="+p.namespace)
	return p.start(exec.CommandContext(context.WithoutCancel(t.Context()), Program(t, name), append(args, anyPort...)...))
}

// anyPort contains flags for ports that are free on this machine.
var anyPort = []string{"--metrics-bind-address=127.0.0.1:0", "--callback-bind-address=127.0.0.1:0"}

// start starts the program and returns when it serves.
func (p *Controller) start(cmd *exec.Cmd) *Controller {
	t := p.t
	t.Helper()
	for _, arg := range cmd.Args {
		if url, is := strings.CutPrefix(arg, "--callback-external-url="); is {
			p.callbackURL = url
		}
	}
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	addresses := make(chan string, 2)
	var read sync.WaitGroup
	read.Go(func() { follow(t, log, addresses) })
	p.Stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		read.Wait()
		assert.NoError(t, cmd.Wait(), "the controller stops when it is asked to")
	})
	t.Cleanup(p.Stop)
	p.Metrics, p.Callbacks = <-addresses, <-addresses
	require.NotEmpty(t, p.Callbacks, "the controller ended before it served")
	return p
}

// follow prints a log, and finds the addresses of the metrics and then of the callbacks. Every line is
// JSON, as configured in the Deployment.
func follow(t testing.TB, log io.Reader, addresses chan<- string) {
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

// User returns the user name of the controller.
func (p *Controller) User() string { return "system:serviceaccount:" + p.namespace + ":" + name }

// kubeconfig writes a kubeconfig with only a token of the controller's ServiceAccount.
func (p *Controller) kubeconfig() string {
	p.t.Helper()
	admin := p.cluster.Config()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData, CertificateAuthority: admin.CAFile}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{Token: p.token()}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(p.t.TempDir(), "kubeconfig")
	require.NoError(p.t, clientcmd.WriteToFile(*config, path))
	return path
}

// token returns a token of the controller's ServiceAccount.
func (p *Controller) token() string {
	p.t.Helper()
	return strings.TrimSpace(p.kubectl("", "create", "token", name, "--namespace="+p.namespace, "--duration=1h"))
}

// kubectl runs kubectl as the administrator.
func (p *Controller) kubectl(stdin string, args ...string) string {
	p.t.Helper()
	output, err := p.cluster.Kubectl(p.t.Context(), stdin, args...)
	require.NoError(p.t, err)
	return output
}
