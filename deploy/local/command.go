package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/deploy/local/internal/controlplane"
)

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "controlplane",
		Short: "A real Kubernetes control plane on the loopback interface, without containers",
		Long: `A real Kubernetes control plane on the loopback interface, without containers.

The commands below run it. The upstream commands are here too, with their own flags:
etcd, kube-apiserver, kube-scheduler, kubectl.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newUpCommand(), newDownCommand(), newRestartCommand(), newControllersCommand(), newNodeCommand())
	return root
}

func newUpCommand() *cobra.Command {
	var options controlplane.Options
	var detach bool
	command := &cobra.Command{
		Use:   "up DIR",
		Short: "Start a control plane whose files are in DIR, and stay until interrupted",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			options.Dir = args[0]
			if detach {
				return controlplane.Detach(command.Context(), options.Dir, attached(os.Args[1:]), os.Stdout)
			}
			return controlplane.Up(command.Context(), options, os.Stdout, os.Stderr)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&options.ControllerManager, "controller-manager", false, "also start kube-controller-manager")
	flags.BoolVar(&options.Node, "node", false, "also start kube-scheduler and play one node, on which Pods become ready and claims get volumes; implies --controller-manager")
	flags.BoolVar(&options.Audit, "audit", false, "write one JSON line per completed request to DIR/audit.log")
	flags.StringArrayVar(&options.EtcdArgs, "etcd-arg", nil, "an argument for etcd, such as --unsafe-no-fsync=false; repeatable")
	flags.StringArrayVar(&options.APIServerArgs, "apiserver-arg", nil, "an argument for kube-apiserver; repeatable")
	flags.BoolVar(&detach, "detach", false, "return when it is ready, and leave it running")
	flags.IntVar(&options.ParentPID, "with-parent", 0, "stop when the parent process, which has this pid, ends")
	flags.BoolVar(&options.Remove, "remove", false, "remove DIR, which must be empty, at the end")
	flags.DurationVar(&options.Timeout, "timeout", 0, "how long the start may take (default 2m)")
	return command
}

// attached returns the command line without --detach.
func attached(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(arg string) bool {
		return arg == "--detach" || arg == "--detach=true"
	})
}

func newDownCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down DIR",
		Short: "Stop the control plane of DIR, and keep its data",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			found, err := controlplane.Down(command.Context(), args[0])
			if err != nil {
				return err
			}
			if !found {
				fmt.Println("not running")
			}
			return nil
		},
	}
}

func newRestartCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restart DIR COMPONENT",
		Short: "Start a component again, dead or alive, on the same port and with the same data",
		Args:  cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return controlplane.Restart(command.Context(), args[0], args[1])
		},
	}
}
