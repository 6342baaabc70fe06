package main

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/fetch"
)

// sourceFlags say which templates and archives are fetched.
type sourceFlags struct {
	prefixes []string
	networks []string
	interval time.Duration
}

func (f *sourceFlags) add(set *pflag.FlagSet) {
	set.StringArrayVar(&f.prefixes, "allow-url-prefix", nil, "beginning of URLs from which Applications may have templates and archives fetched; may be given several times; none: no URL is fetched")
	set.StringArrayVar(&f.networks, "allow-url-network", nil, "network, such as 10.1.0.0/16, that may be reached for that although it is not public; may be given several times")
	set.DurationVar(&f.interval, "source-interval", 5*time.Minute, "how often templates, archives and inputs outside of an Application are asked for changes. Its spec.interval comes first")
}

// apply makes the fetcher.
func (f *sourceFlags) apply(options *controller.Options) error {
	if f.interval < time.Second {
		return fmt.Errorf("--source-interval is %v, must be at least 1s", f.interval)
	}
	settings := fetch.Options{Prefixes: f.prefixes, UserAgent: "holdfast-controller/" + version.String()}
	for _, text := range f.networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--allow-url-network: %q is no network like 10.1.0.0/16", text)
		}
		settings.Networks = append(settings.Networks, network.Masked())
	}
	fetcher, err := fetch.New(settings)
	if err != nil {
		return fmt.Errorf("--allow-url-prefix: %w", err)
	}
	options.Fetcher, options.SourceInterval = fetcher, f.interval
	return nil
}
