package program

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
)

// asProgram is an environment variable that makes the test binary run as the program.
const asProgram = "HOLDFAST_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(Main(Options{}))
	}
	flag.Parse()
	// These tests spend most of their time waiting, mainly for Leases.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	testcluster.Main(m, testcluster.Options{})
}

// process is a running controller.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	// ended is closed when the process has ended, with the result in err.
	ended chan struct{}
	err   error

	mu  sync.Mutex
	log bytes.Buffer
}

func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

// Log returns the log so far.
func (p *process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// start runs the program with a control plane. It ends with the test.
func start(t *testing.T, c *testcluster.Cluster, args ...string) *process {
	t.Helper()
	return run(t, c, os.Args[0], args...)
}

// run runs a program that contains the controller.
func run(t *testing.T, c *testcluster.Cluster, program string, args ...string) *process {
	t.Helper()
	args = append([]string{"--kubeconfig=" + c.Kubeconfig(), "--metrics-bind-address=127.0.0.1:0", "--callback-bind-address=0"}, args...)
	p := &process{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p, p
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// Says blocks until the log contains a text, and returns the line.
func (p *process) Says(text string) string {
	p.t.Helper()
	var line string
	p.until("the log has "+text, func() bool {
		for one := range strings.Lines(p.Log()) {
			if strings.Contains(one, text) {
				line = one
				return true
			}
		}
		return false
	})
	return line
}

// Ends waits for the end of the process and returns its exit status.
func (p *process) Ends() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatalf("the process does not end:\n%s", p.Log())
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) Signal(signal syscall.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(signal))
}

// Address returns the address in the log message.
func (p *process) Address(message string) string {
	p.t.Helper()
	_, address, _ := strings.Cut(p.Says(`"`+message+`"`), `address="`)
	address, _, _ = strings.Cut(address, `"`)
	return address
}

// Get requests a path of the metrics server.
func (p *process) Get(path string) (status int, body string) {
	p.t.Helper()
	return p.get("http://" + p.Address("Serving") + path)
}

func (p *process) get(url string) (status int, body string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(p.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(p.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return response.StatusCode, string(text)
}

func (p *process) until(what string, holds func() bool) {
	p.t.Helper()
	eventually(p.t, what, func() bool {
		select {
		case <-p.ended:
			if !holds() {
				p.t.Fatalf("the process has ended (%v) before %s:\n%s", p.err, what, p.Log())
			}
			return true
		default:
			return holds()
		}
	})
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ours returns a namespace on the shared control plane, with the definition of Applications and an applier
// with all permissions.
func ours(t *testing.T) (c *testcluster.Cluster, namespace string) {
	t.Helper()
	c = testcluster.Shared()
	require.NoError(t, defined())
	return c, namespaceOn(t, c)
}

// alone returns the same on a separate control plane.
func alone(t *testing.T) (c *testcluster.Cluster, namespace string) {
	t.Helper()
	c = pool.Take(t, testcluster.Options{})
	return c, namespaceOn(t, c)
}

var (
	pool    = testcluster.NewPool(3, define)
	defined = sync.OnceValue(func() error { return define(context.Background(), testcluster.Shared()) })
)

func define(ctx context.Context, c *testcluster.Cluster) error {
	return errors.Join(
		c.Define(ctx, string(crd.Applications), "applications.holdfast.dev"),
		c.Define(ctx, string(crd.Slices), "applicationslices.holdfast.dev"),
		c.Define(ctx, string(crd.Profiles), "holdprofiles.holdfast.dev"),
	)
}

func namespaceOn(t *testing.T, c *testcluster.Cluster) string {
	t.Helper()
	namespace := c.Namespace(t)
	inNamespace(t, c, namespace)
	return namespace
}

func inNamespace(t *testing.T, c *testcluster.Cluster, namespace string) {
	t.Helper()
	create(t, c, namespace, serviceAccounts, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: holdfast-applier}}`)
	create(t, c, namespace, roleBindings, `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: applier},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin},
  subjects: [{kind: ServiceAccount, name: holdfast-applier, namespace: `+namespace+`}]}`)
}

func kubectl(t *testing.T, c *testcluster.Cluster, stdin string, args ...string) string {
	t.Helper()
	output, err := c.Kubectl(t.Context(), stdin, args...)
	require.NoError(t, err)
	return output
}

// submit creates an Application of one ConfigMap of the same name.
func submit(t *testing.T, c *testcluster.Cluster, namespace, name, labels string) {
	t.Helper()
	apply(t, c, namespace, applications, fmt.Sprintf(`{apiVersion: holdfast.dev/v1alpha1, kind: Application, metadata: {name: %[1]s, labels: {%[2]s}},
  spec: {manifest: [{apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s}, data: {key: ours}}]}}`, name, labels))
}

func awaitReady(t *testing.T, c *testcluster.Cluster, namespace, name string) {
	t.Helper()
	awaitTrue(t, c, namespace, name, "Ready")
}

// drift changes the ConfigMap of an Application.
func drift(t *testing.T, c *testcluster.Cluster, namespace, name string) {
	t.Helper()
	patch(t, c, namespace, configMaps, name, "kubectl-patch", `{"data":{"key":"theirs"}}`)
}

func awaitCorrected(t *testing.T, c *testcluster.Cluster, namespace, name string) {
	t.Helper()
	eventually(t, "the correction of "+name, func() bool { return get(t, c, namespace, configMaps, name, "{.data.key}") == "ours" })
}
