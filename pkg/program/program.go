// Package program runs the controller as a program: with flags and a configuration file, leader election, the
// callback server and its certificates, metrics, probes, notifications and audit events.
//
// The program holdfast-controller consists of a call of Main. A program that embeds the engine calls it with its own
// hooks:
//
//	h := hooks.New()
//	h.ApplicationMangling.Listen("team", addTeam)
//	os.Exit(program.Main(program.Options{Hooks: h}))
//
// See docs/hooks.md.
//
// # Start and stop
//
// The parts start in this order: notifications, metrics and probes, callbacks, audit events, and then the controller
// with the election. Every replica serves callbacks, metrics and probes. Only the leader writes objects.
//
// After SIGTERM, the controller finishes running reconciles and writes the postponed reports. Only then is the Lease
// released, so that the next leader does not meet requests of this process. The callback server finishes its calls,
// and the notifications are last.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"                         // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo/leaderelection" // leader_election_*
	_ "k8s.io/component-base/metrics/prometheus/restclient"              // rest_client_*
	_ "k8s.io/component-base/metrics/prometheus/workqueue"               // workqueue_*
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/builtin"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/hooks"
)

// Options contains the additions of an embedding program to the controller. Everything else is set by flags.
type Options struct {
	// Hooks contains the listeners of the embedding program. Nil for none.
	Hooks *hooks.Hooks
}

// Main runs the controller with the arguments of the process until the process receives SIGINT or SIGTERM. It returns
// the exit status: 1 also if another process has become the leader, because the process must then be restarted.
func Main(options Options) (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	notAsked := context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process immediately
		klog.FromContext(ctx).Info("Shutting down: finishing running work")
	})
	defer logs.FlushLogs()
	defer notAsked()
	err := Run(ctx, os.Args[1:], options)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errLogged) {
		fmt.Fprintln(os.Stderr, "holdfast-controller:", err)
	}
	return 1
}

// errLogged is returned if the error is already in the log.
var errLogged = errors.New("see the log")

// Run runs the controller with the given arguments until the context ends. It sets the logger and the limits of the
// garbage collector of the process, so it must run only once. An error that is already logged is errLogged.
func Run(ctx context.Context, args []string, options Options) error {
	f, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.version {
		fmt.Println("holdfast-controller", version.String())
		return nil
	}
	// From here on, errors are logged in the configured format.
	if err := logsapi.ValidateAndApply(f.logging, nil); err != nil {
		return err
	}
	f.options.Hooks = options.Hooks
	if err := hold(ctx, f); err != nil {
		klog.FromContext(ctx).Error(err, "Ended") // in the configured format
		return errLogged
	}
	return nil
}

// gcPercent is the default of GOGC. With Go's own, 100, a load peak needs twice the memory of the live objects. The
// Applications created per second do not differ measurably.
const gcPercent = 65

// hold runs the controller and its servers until the context ends. The servers listen before the election starts, so
// that a wrong address is an error at startup.
func hold(ctx context.Context, f *flags) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	config, err := configOf(f.kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "holdfast-controller/" + version.String()
	client, err := cluster.NewClient(config)
	if err != nil {
		return err
	}
	if f.options.Selection, err = f.selection(); err != nil {
		return err
	}
	// Each template watches its kind only if the API server serves it.
	f.options.Templates = builtin.Templates()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	f.options.MemoryLimit = debug.SetMemoryLimit(-1) // GOMEMLIMIT
	f.options.AtRest = debug.FreeOSMemory            // otherwise the runtime keeps the memory of a load peak for the next one
	f.options.Metrics = controller.NewMetrics()
	if f.notify.sender != nil {
		f.options.Metrics.Notifications(f.notify.sender.Stats)
		// This is the last deferred call: the last reconciles send notifications.
		defer f.notify.run(ctx)()
	}
	klog.FromContext(ctx).Info("Starting", "version", version.String(), "server", config.Host)
	election, err := f.candidate(config)
	if err != nil {
		return err
	}
	// The controller must not write before the election, so New gets both.
	f.options.Leading, f.options.Held = election.leading, election.held
	callbacks, err := newCallbacks(f.callback, config)
	if err != nil {
		return err
	}
	f.options.Callback = callbacks.callback
	// New sends no request. The servers below need the controller.
	c := controller.New(client, f.options)
	stopServing, err := serve(ctx, f, c, election.possible)
	if err != nil {
		return err
	}
	defer stopServing()
	waitForCalls, err := callbacks.serve(ctx, client, c, f.options.Metrics)
	if err != nil {
		return err
	}
	if err := f.audit.serve(ctx, f.options); err != nil {
		return err
	}
	if f.configFile != "" {
		// A change of the selection before Run is valid, too.
		go f.followConfiguration(ctx, c.Select)
	}
	err = election.run(ctx, c)
	// The context ends for the servers, too, if the controller has ended for another reason.
	end()
	waitForCalls()
	return err
}

// configOf returns the client configuration for the API server.
func configOf(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("%w: use --kubeconfig or set KUBECONFIG", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	return config, nil
}
