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
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
)

// Flags has kubectl's flags for the cluster, the user and the namespace. Copies share their values.
type Flags struct{ *genericclioptions.ConfigFlags }

// NewFlags returns the flags without values. The flags read KUBECONFIG, and the kubeconfig in the home directory,
// when a value is needed.
func NewFlags() Flags {
	flags := genericclioptions.NewConfigFlags(true)
	flags.ClusterName = nil // --context chooses a cluster, and diff has its own flag --cluster
	return Flags{flags}
}

// shownFlags are the flags in the help text. The other flags work, too.
var shownFlags = []string{"kubeconfig", "context", "namespace", "as", "request-timeout"}

// Add adds all flags, and hides those that few users need. It marks all of them for IsConnection. Flags of kubectl
// that are not shown remain usable, so that scripts can pass the same flags to both programs.
func (f Flags) Add(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.AddFlags(own)
	own.VisitAll(func(flag *pflag.Flag) {
		flag.Hidden = !slices.Contains(shownFlags, flag.Name)
		flag.Annotations = map[string][]string{isConnection: nil}
	})
	for name, usage := range map[string]string{
		"kubeconfig": "`FILE`: kubeconfig to use", "context": "`NAME`: kubeconfig context to use",
		"namespace": "`NAMESPACE`: namespace to use; default: the namespace of the context", "as": "`USER`: user to impersonate",
		"request-timeout": "`DURATION`: timeout of one request, for example 5s; 0: no timeout",
	} {
		own.Lookup(name).Usage = usage
	}
	own.Lookup("request-timeout").DefValue = "" // hides the zero in the help text
	flags.AddFlagSet(own)
}

// isConnection is the annotation of the flags for the connection.
const isConnection = "connection"

// IsConnection reports whether a flag selects the cluster, the user or the namespace.
func IsConnection(flag *pflag.Flag) bool {
	_, is := flag.Annotations[isConnection]
	return is
}

// Client is a client of an API server that explains its errors. It has the rights of the user, and no namespace. Own
// is the dynamic client with the rights of the user. The embedded client could also impersonate ServiceAccounts,
// which only the controller does.
type Client struct{ *cluster.Client }

// Cluster is a connection to a cluster, with a default namespace. It is safe for concurrent use.
type Cluster struct {
	*Client
	// Kinds resolves kinds. It caches them, so copies of a Cluster share it.
	Kinds *Mapper
	// Namespace is the namespace of the flag or of the context.
	Namespace string
}

// Connect returns a connection. It sends no request: the first request finds out whether the API server can be
// reached. Each call returns a connection with a new cache of kinds. The user agent is holdfast/VERSION, by which
// the audit log of an API server distinguishes these requests.
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
	return newCluster(client, namespace), nil
}

// newCluster returns a connection with an empty cache of kinds.
func newCluster(client *cluster.Client, namespace string) *Cluster {
	c := &Client{client}
	return &Cluster{c, &Mapper{cluster.NewMapper(client), c, cluster.NewPublishedTypes(client)}, namespace}
}

// notConfigured returns an error that explains why a kubeconfig cannot be used. For an unknown context, it
// lists the known ones.
func (f Flags) notConfigured(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--kubeconfig %s: the file does not exist", *f.KubeConfig)
	}
	raw, rawErr := f.ToRawKubeConfigLoader().RawConfig()
	if rawErr == nil && *f.Context != "" && raw.Contexts[*f.Context] == nil {
		known := slices.Sorted(maps.Keys(raw.Contexts))
		return fmt.Errorf("the kubeconfig has no context %q%s", *f.Context, cmp.Or(suggest.DidYouMean(*f.Context, known), ": it has "+strings.Join(known, ", ")))
	}
	return fmt.Errorf("reading the kubeconfig: %w", err)
}

// errNoCluster is the error if no cluster is configured, with a remedy.
var errNoCluster = errors.New("no cluster is configured: use --kubeconfig, or set KUBECONFIG to an existing file")

// IsConfigured reports whether a kubeconfig, a flag or the environment of a Pod configures a cluster. It
// sends no request. It returns true for a kubeconfig that cannot be read.
func (f Flags) IsConfigured() bool {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(config.Clusters) > 0 || *f.APIServer != "" {
		return true // Connect explains the error
	}
	_, err = rest.InClusterConfig()
	return err == nil
}

// Contexts completes --context with the sorted names of the contexts in the kubeconfig.
func (f Flags) Contexts(context.Context, []string, string) []string {
	config, err := f.ToRawKubeConfigLoader().RawConfig()
	if err != nil || clientcmd.IsConfigurationInvalid(err) {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Applications is the resource of Applications.
var Applications = v1alpha1.GroupVersionResource

// CompletionTimeout is the timeout of a completion in a shell, which is blocked during that time.
const CompletionTimeout = 3 * time.Second

// namesOf returns the names of all objects of a resource, or nil if they cannot be listed. It transfers
// only metadata.
func namesOf(ctx context.Context, client metadata.ResourceInterface) []string {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names
}

// fieldManager is the field manager of the command line. Users see it in conflicts. All commands use it for applies,
// so that a later submission can remove the fields of an earlier one.
const fieldManager = "holdfast-cli"
