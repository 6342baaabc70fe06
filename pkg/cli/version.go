package cli

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/command"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/terminal"
)

const versionLong = `Print the version of Holdfast and, if a cluster is configured, the version of
Kubernetes and the served versions of the kind Application.`

const versionExample = `
  # For a bug report
  PROGRAM version -o yaml

  # Without the cluster
  PROGRAM version --client
`

type versionOptions struct {
	streams    Streams
	connection connection.Flags
	output     string
	client     bool             // contact no cluster
	print      terminal.Printer // nil: text output
}

// Versions is what `version -o json` prints. Server is nil without a cluster, with --client, and if the cluster
// cannot be reached.
type Versions struct {
	Client Build   `json:"client" yaml:"client"`
	Server *Server `json:"server,omitempty" yaml:"server,omitempty"`
}

// Build is the build information of a program.
//
//	{"version": "v0.9.0", "goVersion": "go1.26.0", "platform": "linux/amd64"}
type Build struct {
	Version   string `json:"version" yaml:"version"`
	GoVersion string `json:"goVersion" yaml:"goVersion"`
	Platform  string `json:"platform" yaml:"platform"`
}

// Server is the versions of a cluster.
type Server struct {
	Kubernetes string `json:"kubernetes" yaml:"kubernetes"`
	// Applications are the served versions of the kind Application.
	Applications []string `json:"applications" yaml:"applications"`
}

func newVersionCommand(name string, streams Streams) *cobra.Command {
	o := &versionOptions{streams: streams, connection: connection.NewFlags()}
	return command.Spec{
		Use: "version", Short: "Print the versions of this program and of the cluster",
		Long: versionLong, Example: versionExample,
		Statuses: []string{"printed", "", "an error, also one in the flags, or the cluster cannot be reached"},
		Args:     command.AtMost(0), Flags: o.add, Options: o.options, Connection: o.connection,
	}.Build(name)
}

func (o *versionOptions) add(flags *pflag.FlagSet) {
	flags.StringVarP(&o.output, "output", "o", "", "`yaml|json`: print for programs")
	flags.BoolVar(&o.client, "client", false, "only this program, without the cluster")
}

func (o *versionOptions) options([]string) (_ command.Run, err error) {
	o.print, err = terminal.OptionalPrinter(o.output)
	return o.run, err
}

func (o *versionOptions) run(context.Context) error {
	versions := Versions{Client: Build{
		Version: version.String(), GoVersion: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}}
	// The versions of this program are printed even if the cluster cannot be reached.
	var unreachable error
	if !o.client && o.connection.IsConfigured() {
		versions.Server, unreachable = o.server()
	}
	return cmp.Or(o.show(versions), unreachable)
}

// show prints the versions. Without a cluster, it prints only those of this program.
//
//	Client: v0.9.0 (go1.26.0, linux/amd64)
//	Server: Kubernetes v1.36.0, Applications in v1alpha1
func (o *versionOptions) show(versions Versions) error {
	if o.print != nil {
		return o.print(o.streams.Out, versions)
	}
	client := versions.Client
	_, err := fmt.Fprintf(o.streams.Out, "Client: %s (%s, %s)\n", client.Version, client.GoVersion, client.Platform)
	if err != nil || versions.Server == nil {
		return err
	}
	served := "Holdfast is not installed"
	if len(versions.Server.Applications) > 0 {
		served = "Applications in " + strings.Join(versions.Server.Applications, ", ")
	}
	_, err = fmt.Fprintf(o.streams.Out, "Server: Kubernetes %s, %s\n", versions.Server.Kubernetes, served)
	return err
}

// server returns the versions of the cluster. It needs no rights beyond those of every authenticated user: /version
// and /apis.
func (o *versionOptions) server() (*Server, error) {
	c, err := o.connection.Connect()
	if err != nil {
		return nil, err
	}
	info, err := c.Discovery.ServerVersion()
	if err != nil {
		return nil, c.Explained(err, "get", "the version")
	}
	server := &Server{Kubernetes: info.GitVersion, Applications: []string{}}
	groups, err := c.Discovery.ServerGroups()
	if err != nil {
		return server, c.Explained(err, "list", "the API groups")
	}
	for _, group := range groups.Groups {
		if group.Name != v1alpha1.GroupVersion.Group {
			continue
		}
		for _, v := range group.Versions {
			server.Applications = append(server.Applications, v.Version)
		}
	}
	return server, nil
}
