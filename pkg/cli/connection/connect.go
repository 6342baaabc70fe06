package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cluster"
)

// Flags are kubectl's: which cluster, as whom, in which namespace.
type Flags struct{ *genericclioptions.ConfigFlags }

// NewFlags are the flags with nothing chosen.
func NewFlags() Flags {
	flags := genericclioptions.NewConfigFlags(true)
	flags.ClusterName = nil // --context chooses a cluster, and diff has a --cluster of its own
	return Flags{flags}
}

// shownFlags are those that a help text shows. The others work, too.
var shownFlags = []string{"kubeconfig", "context", "namespace", "as", "request-timeout"}

// Add adds all of them, and hides those that few need.
func (f Flags) Add(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shownFlags, flag.Name) })
	for name, usage := range map[string]string{
		"kubeconfig": "`FILE` that says how to reach the cluster", "context": "`NAME` of the context in it to use",
		"namespace": "`NAMESPACE` to work in; without it, that of the context", "as": "`USER` to act as",
		"request-timeout": "how `LONG` one request may take, such as 5s; 0: as long as it takes",
	} {
		own.Lookup(name).Usage = usage
	}
	own.Lookup("request-timeout").DefValue = "" // a zero, which says nothing
	flags.AddFlagSet(own)
}

// Cluster is a cluster that can be asked.
type Cluster struct {
	*cluster.Client
	Kinds *cluster.Mapper
	// Namespace is that of the flag or of the context.
	Namespace string

	documents *documents
}

// Connect sends nothing: who cannot be reached is found out with the first
// request.
func (f Flags) Connect() (*Cluster, error) {
	if !f.IsConfigured() {
		return nil, errNoCluster
	}
	config, err := f.ToRESTConfig()
	if err != nil {
		return nil, f.notConfigured(err)
	}
	namespace, _, err := f.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("reading the namespace of the context: %w", err)
	}
	config.UserAgent = "holdfast/" + version.String()
	client, err := cluster.NewClient(config)
	if err != nil {
		return nil, err
	}
	client.Config.WarningHandler = rest.NoWarnings{}
	return &Cluster{Client: client, Kinds: cluster.NewMapper(client), Namespace: namespace, documents: &documents{all: map[schema.GroupVersion][]byte{}}}, nil
}

// notConfigured says why a kubeconfig cannot be used.
func (f Flags) notConfigured(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--kubeconfig %s: there is no such file", *f.KubeConfig)
	}
	raw, rawErr := f.ToRawKubeConfigLoader().RawConfig()
	if rawErr == nil && *f.Context != "" && raw.Contexts[*f.Context] == nil {
		known := slices.Sorted(maps.Keys(raw.Contexts))
		return fmt.Errorf("the kubeconfig has no context %q%s", *f.Context, cmp.Or(suggest.DidYouMean(*f.Context, known), ": it has "+strings.Join(known, ", ")))
	}
	return fmt.Errorf("reading how to reach the cluster: %w", err)
}

// errNoCluster says what to do where nothing says which cluster is meant.
var errNoCluster = errors.New("no cluster is configured: give --kubeconfig, or set KUBECONFIG to a file that is there")

// IsConfigured reports whether anything says how to reach a cluster.
func (f Flags) IsConfigured() bool {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(config.Clusters) > 0 || *f.APIServer != "" {
		return true // or it is said what is wrong with it
	}
	_, err = rest.InClusterConfig()
	return err == nil
}

// Contexts completes --context.
func (f Flags) Contexts(context.Context, []string, string) []string {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil || clientcmd.IsConfigurationInvalid(err) {
		return nil
	}
	var names []string
	for name := range config.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
