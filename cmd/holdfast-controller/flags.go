package main

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

// flags are what the command line says.
type flags struct {
	kubeconfig string
	version    bool
	options    controller.Options
	logging    *logsapi.LoggingConfiguration
	election   componentconfig.LeaderElectionConfiguration

	watchNamespaces []string
	selector        string
	configFile      string
	configText      []byte // what was in the file at the start

	callback callbackFlags
	source   sourceFlags
	notify   notifyFlags
	audit    auditFlags

	metricsAddress   string
	profilingAddress string
}

// mostVerbose is the highest log level. From 8 on, client-go logs the bodies of
// requests and responses, those of Secrets included.
const mostVerbose = 7

func parse(args []string) (*flags, error) {
	f := &flags{logging: logsapi.NewLoggingConfiguration(), election: defaultElection()}
	set := pflag.NewFlagSet("holdfast-controller", pflag.ContinueOnError)
	f.add(set)
	set.Usage = func() { fmt.Fprint(os.Stderr, usage(set)) }
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("takes no arguments, only flags: %q", set.Args())
	}
	f.logging.Verbosity = min(f.logging.Verbosity, mostVerbose)
	if err := f.validate(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *flags) add(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVar(&f.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "file that says how to reach the API server; empty: as the Pod that this runs in")
	set.IntVar(&f.options.Concurrency, "concurrency", 16, "how many Applications are handled at the same time")
	set.StringVar(&f.options.DefaultServiceAccount, "default-service-account", "holdfast-applier",
		"ServiceAccount in the Application's namespace whose rights are used when the Application names none")
	set.DurationVar(&f.options.ResyncInterval, "resync-interval", 10*time.Hour,
		"how often each Application is looked at though nothing has happened, at most; 0: never. Its spec.interval comes first")
	set.StringSliceVar(&f.watchNamespaces, "watch-namespaces", nil, "namespaces whose Applications are held, comma separated; empty: all")
	set.StringVar(&f.selector, "selector", "", "label selector of the Applications that are held; empty: all")
	set.StringVar(&f.configFile, "config", "",
		"file with a "+controller.ConfigurationKind+"; its watchNamespaces and selector come before the flags, and changes of it take effect at once")
	set.IntVar(&f.options.Slots, "shards", 1,
		"into how many slots the Applications are shared, so that all replicas work, and each holds its part of the slots; 1: one replica leads and has all")
	componentoptions.BindLeaderElectionFlags(&f.election, set)
	set.Lookup("leader-elect-resource-lock").Hidden = true // there is only one kind
	f.source.add(set)
	f.callback.add(set)
	f.notify.add(set)
	f.audit.add(set)
	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "where /metrics, /healthz and /readyz are served, over HTTP; empty or 0: nowhere")
	set.StringVar(&f.profilingAddress, "profiling-bind-address", "", "where /debug/pprof is served, a loopback address; empty: nowhere")
	f.addLogging(set)
	set.BoolVar(&f.version, "version", false, "print the version and exit")
}

// addLogging adds those of the logging flags that are stable.
func (f *flags) addLogging(set *pflag.FlagSet) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	logsapi.AddFlags(f.logging, all)
	for _, name := range []string{"logging-format", "v"} {
		set.AddFlag(all.Lookup(name))
	}
	set.Lookup("logging-format").Usage = "text or json"
	set.Lookup("v").Usage = fmt.Sprintf("how much is logged, 0 to %d", mostVerbose)
}

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

// podNamespace is the namespace of the Pod that this runs in, or where it would
// be installed.
func podNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if namespace := strings.TrimSpace(string(text)); err == nil && namespace != "" {
		return namespace
	}
	return "holdfast-system"
}

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
	if errs := componentvalidation.ValidateLeaderElectionConfiguration(&f.election, field.NewPath("leader-elect")); len(errs) > 0 {
		return fmt.Errorf("the --leader-elect flags: %w", errs.ToAggregate())
	}
	if err := f.validateShards(); err != nil {
		return err
	}
	if err := f.source.apply(&f.options); err != nil {
		return err
	}
	if err := f.callback.validate(); err != nil {
		return err
	}
	if !off(f.profilingAddress) && !loopback(f.profilingAddress) {
		return fmt.Errorf("--profiling-bind-address is %q, must be a loopback address such as 127.0.0.1:6060: who can read a profile can read the memory", f.profilingAddress)
	}
	if f.version { // it is asked where the files of the flags are not
		return nil
	}
	if err := f.audit.apply(&f.options); err != nil {
		return err
	}
	return f.notify.apply(&f.options)
}

// mostShards bounds how many leases are renewed all the time.
const mostShards = 64

func (f *flags) validateShards() error {
	switch {
	case f.options.Slots < 1 || f.options.Slots > mostShards:
		return fmt.Errorf("--shards is %d, must be 1 to %d", f.options.Slots, mostShards)
	case f.options.Slots > 1 && !f.election.LeaderElect:
		return fmt.Errorf("--shards=%d needs --leader-elect: each slot is a lease", f.options.Slots)
	case f.options.Slots > 1 && !off(f.audit.address):
		return fmt.Errorf("--shards=%d cannot be together with --audit-webhook-bind-address: "+
			"an audit event reaches one replica, and the Application may be another's", f.options.Slots)
	}
	return nil
}

// off reports whether an address stands for nowhere.
func off(address string) bool { return address == "" || address == "0" }

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
