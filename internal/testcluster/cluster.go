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

// Options say what runs beside kube-apiserver and etcd.
type Options struct {
	// ControllerManager: garbage collection, service accounts, Deployments, namespace deletion.
	ControllerManager bool
	// Node: kube-scheduler and a node that is played, on which Pods become ready and
	// claims get volumes, if their StorageClass asks for that. Implies ControllerManager.
	Node bool
	// Args are further arguments of `controlplane up`, such as
	// "--apiserver-arg=--watch-cache=false".
	Args []string
	// AuditWebhook, if it is set, gets audit events.
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
	// files is a directory beside it; empty for none.
	files string
	// supervisor is the process `controlplane up`; ended is closed when it has ended.
	supervisor *exec.Cmd
	ended      chan struct{}
	// disturbed is true once a component was meddled with.
	disturbed atomic.Bool
}

// starting are those that start now. An API server takes all of a core to start: many at
// once are not ready sooner, and on a slow machine not in time.
var starting = make(chan struct{}, 2)

// Start starts a control plane in a temporary directory and returns when it is ready.
// Stop removes it; it also goes when this process ends in any other way. The context
// bounds the start only.
//
// The first Start after a checkout builds the control plane, for minutes, and says so
// on standard error.
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
	// The limit is for shared clusters; here it would hide how fast something is.
	c.config.QPS = -1
	return c, nil
}

// environment is that of the tests, in which components collect garbage less often than
// elsewhere: that takes a sixth of their processor time. What is set already prevails.
func environment() []string {
	if !testing.Testing() { // a benchmark
		return os.Environ()
	}
	return append([]string{"GOGC=200"}, os.Environ()...)
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

// up starts the supervisor and reads its output until the line that says how to use
// the control plane, which is the last one.
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

// Dir is the directory of the control plane; <component>.log in it are the logs.
func (c *Cluster) Dir() string { return c.dir }

// Kubeconfig is the path of a kubeconfig for the administrator.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Config returns a new client configuration for the administrator, without a limit on
// requests. Set UserAgent to find the requests again, see Requests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }
