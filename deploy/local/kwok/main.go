// Kwok is the upstream program, with one command more: "kwok stages" prints the
// stages, the documents that say what happens to fake Nodes and Pods, which this
// release carries but uses only through its other program, kwokctl.
//
// It is a module of its own, because it wants other versions of the Kubernetes
// libraries than the control plane.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodestages "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeatstages "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podstages "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

// stages make a Node ready at once and keep it so; a Pod too, until it is deleted, and
// one of a Job succeed.
var stages = []string{
	nodestages.DefaultNodeInit,
	heartbeatstages.DefaultNodeHeartbeatWithLease,
	podstages.DefaultPodReady,
	podstages.DefaultPodComplete,
	podstages.DefaultPodDelete,
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "stages" {
		fmt.Print(strings.Join(stages, "\n---\n"))
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kwok:", err)
		os.Exit(1)
	}
}

// run does what the upstream main function does.
func run() error {
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(global)
	return command.ExecuteContext(ctx)
}
