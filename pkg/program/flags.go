package program

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentconfig "k8s.io/component-base/config"
	componentoptions "k8s.io/component-base/config/options"
	componentvalidation "k8s.io/component-base/config/validation"
	logsapi "k8s.io/component-base/logs/api/v1"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

// flags are the parsed command line flags. After validate, options has everything that the controller needs from
// them.
type flags struct {
	kubeconfig string
	version    bool
	// options are the options of the controller. Many flags are parsed directly into them.
	options controller.Options
	logging *logsapi.LoggingConfiguration
	// election configures the Lease of the leader.
	election componentconfig.LeaderElectionConfiguration

	// watchNamespaces and selector select Applications, unless the file configFile does.
	watchNamespaces []string
	selector        string
	configFile      string
	configText      []byte // content of the file at startup

	// Each part has its own flags, and validates them.
	callback callbackFlags
	source   sourceFlags
	notify   notifyFlags
	audit    auditFlags

	// metricsAddress serves metrics and probes, profilingAddress profiles. Empty or 0 disables a server.
	metricsAddress   string
	profilingAddress string
}

// mostVerbose is the highest allowed log level. From level 8, client-go logs the bodies of requests and
// responses, including Secrets.
const mostVerbose = 7

// parse parses and validates the arguments, without the name of the program. For --help, it prints the help text and
// returns pflag.ErrHelp. It reads the files that flags name.
func parse(args []string) (*flags, error) {
	f := &flags{logging: logsapi.NewLoggingConfiguration(), election: defaultElection()}
	set := pflag.NewFlagSet("holdfast-controller", pflag.ContinueOnError)
	f.add(set)
	set.Usage = func() { fmt.Fprint(os.Stderr, usage(set)) }
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("unexpected arguments, only flags are allowed: %q", set.Args())
	}
	// A higher level is lowered, because client-go would log Secrets.
	f.logging.Verbosity = min(f.logging.Verbosity, mostVerbose)
	if err := f.validate(); err != nil {
		return nil, err
	}
	return f, nil
}

// add adds all flags, in the order of the help text.
func (f *flags) add(set *pflag.FlagSet) {
	// The help text lists the flags in the order below, which groups them.
	set.SortFlags = false
	set.StringVar(&f.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig file for the API server; empty uses the ServiceAccount of the Pod")
	set.IntVar(&f.options.Concurrency, "concurrency", 16, "number of Applications that are reconciled at the same time")
	set.StringVar(&f.options.DefaultServiceAccount, "default-service-account", "holdfast-applier",
		"default ServiceAccount for Applications that do not set spec.serviceAccountName; it is in the namespace of the Application")
	set.DurationVar(&f.options.ResyncInterval, "resync-interval", 10*time.Hour,
		"interval for reconciling each Application without a change; 0 disables it. spec.interval has precedence")
	set.StringSliceVar(&f.watchNamespaces, "watch-namespaces", nil, "comma-separated namespaces of the Applications to reconcile; empty selects all")
	set.StringVar(&f.selector, "selector", "", "label selector of the Applications to reconcile; empty selects all")
	set.StringVar(&f.configFile, "config", "",
		"file with a "+cluster.ConfigurationKind+"; its watchNamespaces and selector have precedence over the flags, and changes take effect at once")
	componentoptions.BindLeaderElectionFlags(&f.election, set)
	set.Lookup("leader-elect-resource-lock").Hidden = true // there is only one valid value
	f.source.add(set)
	f.callback.add(set)
	f.notify.add(set)
	f.audit.add(set)
	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics, /healthz and /readyz, over HTTP; empty or 0 disables them")
	set.StringVar(&f.profilingAddress, "profiling-bind-address", "", "loopback address of /debug/pprof; empty disables it")
	f.addLogging(set)
	set.BoolVar(&f.version, "version", false, "print the version and exit")
}

// addLogging adds the stable logging flags of component-base, and omits its other ones.
func (f *flags) addLogging(set *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	logsapi.AddFlags(f.logging, all)
	for _, name := range []string{"logging-format", "v"} {
		set.AddFlag(all.Lookup(name))
	}
	set.Lookup("logging-format").Usage = "text or json"
	set.Lookup("v").Usage = fmt.Sprintf("log level, 0 to %d", mostVerbose)
}

// defaultElection returns the defaults of the election. A leader that dies is replaced after 30 to 52 s: the other replica
// counts from the time that it has seen the last renewal, and asks every 5 to 11 s. RenewDeadline is half of 30 s, so a
// leader stops writing long before another one can start.
func defaultElection() componentconfig.LeaderElectionConfiguration {
	return componentconfig.LeaderElectionConfiguration{
		LeaderElect:       true,
		LeaseDuration:     metav1.Duration{Duration: 30 * time.Second},
		RenewDeadline:     metav1.Duration{Duration: 15 * time.Second},
		RetryPeriod:       metav1.Duration{Duration: 5 * time.Second},
		ResourceLock:      resourcelock.LeasesResourceLock,
		ResourceName:      "holdfast-controller",
		ResourceNamespace: podNamespace(),
	}
}

// podNamespace returns the namespace of the process' Pod, or the default namespace of an installation.
func podNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if namespace := strings.TrimSpace(string(text)); err == nil && namespace != "" {
		return namespace
	}
	return "holdfast-system"
}

// validate returns the first invalid flag, and completes the options. It creates the fetcher, the sender of
// notifications and the table of audit events.
func (f *flags) validate() error {
	if f.options.Concurrency < 1 {
		return fmt.Errorf("--concurrency is %d, must be at least 1", f.options.Concurrency)
	}
	if account := f.options.DefaultServiceAccount; account != "" && !cluster.IsServiceAccount(account) {
		return fmt.Errorf("--default-service-account is %q, must be the name of a ServiceAccount: lower-case letters, digits, '-' and '.'", account)
	}
	if f.options.ResyncInterval < 0 {
		return fmt.Errorf("--resync-interval is %v, must not be negative", f.options.ResyncInterval)
	}
	// It also checks that RenewDeadline is shorter than LeaseDuration, which the fence needs.
	if errs := componentvalidation.ValidateLeaderElectionConfiguration(&f.election, field.NewPath("leader-elect")); len(errs) > 0 {
		return fmt.Errorf("the --leader-elect flags: %w", errs.ToAggregate())
	}
	if err := f.source.apply(&f.options); err != nil {
		return err
	}
	if err := f.callback.validate(); err != nil {
		return err
	}
	if !off(f.profilingAddress) && !loopback(f.profilingAddress) {
		return fmt.Errorf("--profiling-bind-address is %q, must be a loopback address such as 127.0.0.1:6060, because profiles contain memory", f.profilingAddress)
	}
	if f.version { // --version must work without the files of other flags
		return nil
	}
	if err := f.audit.apply(&f.options); err != nil {
		return err
	}
	return f.notify.apply(&f.options)
}

// off reports whether an address disables a server.
func off(address string) bool { return address == "" || address == "0" }

// loopback reports whether an address can be reached only from this host. It resolves no name except localhost.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
