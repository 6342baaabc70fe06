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

// cluster is a control plane that runs, seen from outside.
type cluster struct {
	checkout
	dir    string
	client dynamic.Interface
}

// connect returns the cluster whose control plane has the directory.
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

// The commands that make a new control plane ready for Applications in the namespace
// default.
const (
	applyCommand = "kubectl apply --server-side -f deploy/crd -f deploy/demo/applier.yaml -f deploy/demo/storage.yaml"
	waitCommand  = "kubectl wait --for=condition=Established crd/applications.holdfast.dev"
)

// install runs them. It does no harm where that was done before.
func (c *cluster) install(ctx context.Context) error {
	for _, command := range []string{applyCommand, waitCommand} {
		if output, err := c.shell(ctx, command); err != nil {
			return fmt.Errorf("%s: %w\n%s", command, err, output)
		}
	}
	return nil
}

// asTyped has kubectl stand for the one that bin/controlplane carries, and holdfast for
// bin/holdfast.
const asTyped = `kubectl() { "$CONTROLPLANE" kubectl "$@"; }
holdfast() { "$HOLDFAST" "$@"; }
`

// shell runs a command at the root of the checkout, as a user would type it, and
// returns what it prints. Nothing of the user's preferences changes what it does.
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
