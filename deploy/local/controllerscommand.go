package main

import (
	"github.com/spf13/cobra"

	"holdfast.dev/holdfast/deploy/local/controllers"
	"holdfast.dev/holdfast/deploy/local/internal/controlplane"
)

func newControllersCommand() *cobra.Command {
	var options controllers.Options
	command := &cobra.Command{
		Use:   controlplane.ControllerManager,
		Short: "Run the controllers of Kubernetes that the tests and the demo need",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			controlplane.EndWithParent()
			return controllers.Run(command.Context(), options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&options.RootCA, "root-ca-file", "", "its certificate authority, for each namespace")
	flags.StringVar(&options.Healthz, "healthz-address", "", "where to serve /healthz")
	return command
}
