package testcluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

// Options selects the components besides kube-apiserver and etcd.
type Options struct {
	// ControllerManager runs garbage collection, service accounts, Deployments and namespace deletion.
	ControllerManager bool
	// Node runs kube-scheduler and a simulated node, on which Pods become ready and claims get volumes if
	// their StorageClass requests that. It implies ControllerManager.
	Node bool
	// Args are additional arguments of `controlplane up`, such as "--apiserver-arg=--watch-cache=false".
	Args []string
	// AuditWebhook receives audit events if it is set.
	AuditWebhook *AuditWebhook
}

func (o Options) isSpecial() bool {
	return o.ControllerManager || o.Node || len(o.Args) > 0 || o.AuditWebhook != nil
}

// Cluster is a running control plane.
type Cluster struct {
	dir     string
	binary  string
	options Options
	config  *rest.Config
	// files is a directory for additional files, or empty
	files string
	// supervisor is the process `controlplane up`. ended is closed when it has ended.
	supervisor *exec.Cmd
	ended      chan struct{}
	// disturbed is true after a component was killed or paused
	disturbed atomic.Bool
}

// starting limits concurrent starts. A starting API server uses an entire core: many at once are not ready
// sooner, and can time out on a slow machine.
var starting = make(chan struct{}, 2)

// Start starts a control plane in a temporary directory and returns when it is ready. Stop removes it; so
// does the end of this process. The context applies only to the start.
//
// The first Start after a checkout builds the control plane, which takes minutes and is reported on
// standard error.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	binary, err := binaries.Ensure(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	starting <- struct{}{}
	defer func() { <-starting }()
	dir, err := os.MkdirTemp("", "holdfast-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, binary: binary, options: options, ended: make(chan struct{})}
	if options.AuditWebhook != nil {
		files, args, err := options.AuditWebhook.arguments()
		if err != nil {
			return nil, err
		}
		c.files, options.Args = files, append(slices.Clone(options.Args), args...)
	}
	if err := c.up(ctx, arguments(dir, options)); err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	c.config, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		c.Stop()
		return nil, err
	}
	// The default limit is meant for shared clusters. Here it would distort measurements.
	c.config.QPS = -1
	return c, nil
}

// gcPercent is the GOGC of processes in tests: by default, garbage collection takes a sixth of their CPU time.
const gcPercent = 400

// environment returns the environment with a higher GOGC for the components and kubectl. Variables that are
// already set have precedence.
func environment() []string {
	if !testing.Testing() { // a benchmark
		return os.Environ()
	}
	return append([]string{"GOGC=" + strconv.Itoa(gcPercent)}, os.Environ()...)
}

func arguments(dir string, options Options) []string {
	args := []string{"up", dir, "--audit", "--with-parent=" + strconv.Itoa(os.Getpid())}
	if os.Getenv("HOLDFAST_KEEP") == "" {
		args = append(args, "--remove")
	} else {
		fmt.Fprintln(os.Stderr, "control plane in", dir)
	}
	if options.ControllerManager {
		args = append(args, "--controller-manager")
	}
	if options.Node {
		args = append(args, "--node")
	}
	return append(args, options.Args...)
}

// up starts the supervisor and reads its output up to the export line, which is the last one.
func (c *Cluster) up(ctx context.Context, args []string) error {
	var problems bytes.Buffer
	cmd := exec.Command(c.binary, args...)
	cmd.Env = environment()
	cmd.Stderr = &problems
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "export ") {
			c.supervisor = cmd
			go func() {
				_ = cmd.Wait()
				close(c.ended)
			}()
			return nil
		}
	}
	err = cmd.Wait()
	return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, problems.String())
}

// Stop ends the control plane and removes its directory.
func (c *Cluster) Stop() {
	_ = c.supervisor.Process.Signal(syscall.SIGTERM)
	<-c.ended
	if c.files != "" {
		_ = os.RemoveAll(c.files)
	}
}

// Dir returns the directory of the control plane. It contains the logs as <component>.log.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig returns the path of a kubeconfig for the administrator.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Config returns a new client configuration for the administrator without rate limits. Set UserAgent to
// find its requests; see Requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
