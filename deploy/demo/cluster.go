package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

// cluster is a client of a running control plane.
type cluster struct {
	checkout
	dir    string
	client dynamic.Interface
}

// connect returns the cluster of the control plane in a directory.
func (c checkout) connect(dir string) (*cluster, error) {
	result := &cluster{checkout: c, dir: dir}
	config, err := clientcmd.BuildConfigFromFlags("", result.kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", result.kubeconfig(), err)
	}
	config.UserAgent = "holdfast-demo"
	result.client, err = dynamic.NewForConfig(config)
	return result, err
}

func (c *cluster) kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// The commands that prepare a new control plane for Applications in the namespace default.
const (
	applyCommand = "kubectl apply --server-side -f deploy/crd -f deploy/demo/applier.yaml -f deploy/demo/storage.yaml"
	waitCommand  = "kubectl wait --for=condition=Established crd/applications.holdfast.dev"
)

// restCommand installs what `holdfast check` looks for: the namespace of the lease, the roles and
// the admission policy.
const restCommand = `kubectl apply --server-side -f deploy/manager/namespace.yaml &&
for part in rbac/roles rbac/cluster admission; do kubectl apply --server-side -k deploy/$part || exit 1; done`

// install runs these commands. Where they have run before, they change nothing.
func (c *cluster) install(ctx context.Context) error {
	for _, command := range []string{applyCommand, waitCommand, restCommand} {
		if output, err := c.shell(ctx, command); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, output)
		}
	}
	return nil
}

// asTyped defines kubectl as the one in bin/controlplane, and holdfast as bin/holdfast.
const asTyped = `kubectl() { "$CONTROLPLANE" kubectl "$@"; }
holdfast() { "$HOLDFAST" "$@"; }
`

// shell runs a command in the root of the checkout, as a user would type it, and returns its output.
// Preferences of the user have no effect.
func (c *cluster) shell(ctx context.Context, command string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", asTyped+command)
	cmd.Dir = c.root
	cmd.Env = append(os.Environ(),
		"CONTROLPLANE="+c.program(controlplaneProgram),
		"HOLDFAST="+c.program(holdfastProgram),
		"KUBECONFIG="+c.kubeconfig(),
		"KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"),
		"KUBECTL_KUBERC=false",
		"NO_COLOR=1",
	)
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	return strings.TrimRight(string(output), "\n"), err
}
