package main

import (
	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/deploy/local/internal/controlplane"
	"holdfast.dev/holdfast/deploy/local/internal/node"
)

func newNodeCommand() *cobra.Command {
	var kubeconfig string
	command := &cobra.Command{
		Use:   controlplane.Node,
		Short: "Play a node, on which Pods become ready and claims get volumes",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			controlplane.EndWithParent()
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			return node.Run(command.Context(), config)
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	return command
}
