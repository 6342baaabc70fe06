// Command holdfast-controller holds the Applications of a cluster.
package main

import (
	"context"
	"errors"
	goflag "flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/controller"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "holdfast-controller:", err)
		os.Exit(1)
	}
}

type flags struct {
	kubeconfig string
	version    bool
	options    controller.Options
}

func run(ctx context.Context, args []string) error {
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
	config, err := configOf(f.kubeconfig)
	if err != nil {
		return err
	}
	config.UserAgent = "holdfast-controller/" + version.String()
	client, err := cluster.NewClient(config)
	if err != nil {
		return err
	}
	klog.FromContext(ctx).Info("Starting", "version", version.String(), "server", config.Host)
	return controller.New(client, f.options).Run(ctx)
}

func parse(args []string) (flags, error) {
	var f flags
	set := pflag.NewFlagSet("holdfast-controller", pflag.ContinueOnError)
	set.StringVar(&f.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "file that says how to reach the API server; empty: as the Pod that this runs in")
	set.IntVar(&f.options.Concurrency, "concurrency", 16, "how many Applications are handled at the same time")
	set.StringVar(&f.options.DefaultServiceAccount, "default-service-account", "holdfast-applier",
		"ServiceAccount in the Application's namespace whose rights are used when the Application names none")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	logging := goflag.NewFlagSet("", goflag.ContinueOnError)
	klog.InitFlags(logging)
	set.AddGoFlag(logging.Lookup("v"))
	set.Usage = func() {
		fmt.Fprintf(os.Stderr, "holdfast-controller holds the Applications of a cluster.\n\nUsage: holdfast-controller [flags]\n\n%s", set.FlagUsagesWrapped(80))
	}
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("takes no arguments, only flags: %q", set.Args())
	}
	if f.options.Concurrency < 1 {
		return f, fmt.Errorf("--concurrency is %d, must be at least 1", f.options.Concurrency)
	}
	return f, nil
}

// configOf says how to reach the API server.
func configOf(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("%w: give --kubeconfig or set KUBECONFIG", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", kubeconfig, err)
	}
	return config, nil
}
