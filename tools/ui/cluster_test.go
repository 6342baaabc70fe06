package ui

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"holdfast.dev/holdfast/deploy/crd"
	"holdfast.dev/holdfast/internal/testcluster"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

func TestMain(m *testing.M) { testcluster.Main(m, testcluster.Options{Node: true}) }

// user is a user with a cluster on which the controller runs.
type user struct {
	*testing.T

	cluster *testcluster.Cluster
}

func start(t *testing.T) user {
	t.Helper()
	u := user{t, testcluster.Shared()}
	require.NoError(t, u.cluster.Define(t.Context(), string(crd.Applications), v1alpha1.GroupVersionResource.GroupResource().String()))
	require.NoError(t, u.cluster.Define(t.Context(), string(crd.Slices), "applicationslices."+v1alpha1.GroupVersion.Group))
	client, err := cluster.NewClient(u.cluster.Config())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- controller.New(client, controller.Options{}).Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return u
}

func (u user) kubectl(stdin string, args ...string) string {
	u.Helper()
	output, err := u.cluster.Kubectl(u.Context(), stdin, args...)
	require.NoError(u, err)
	return output
}

// namespace creates a namespace in which Applications have all permissions.
func (u user) namespace(name string) {
	u.Helper()
	u.kubectl("", "create", "namespace", name)
	u.kubectl("", "create", "serviceaccount", "holdfast-applier", "-n", name)
	u.kubectl("", "create", "rolebinding", "holdfast-applier", "-n", name, "--clusterrole=cluster-admin", "--serviceaccount="+name+":holdfast-applier")
	u.kubectl("", "wait", "--for=create", "serviceaccount/default", "-n", name, "--timeout=120s")
}

// serve runs `holdfast ui` and returns the address that it prints.
func (u user) serve(args ...string) string {
	u.Helper()
	out, in := io.Pipe()
	ctx, cancel := context.WithCancel(u.Context())
	ended := make(chan int, 1)
	go func() {
		ended <- cli.Main(ctx, append([]string{"holdfast", "ui", "--kubeconfig", u.cluster.Kubeconfig()}, args...), cli.Streams{
			In: strings.NewReader(""), Out: in, Err: io.Discard, Getenv: os.Getenv, Now: time.Now,
		})
		_ = in.Close()
	}()
	u.Cleanup(func() { cancel(); <-ended })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(u, err)
	return strings.TrimSpace(line)
}
