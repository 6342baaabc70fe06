package program

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/fetch"
)

// sourceFlags configure which templates and archives can be fetched.
type sourceFlags struct {
	prefixes []string
	// networks are the non-public networks from which URLs can be fetched, in CIDR notation.
	networks []string
	interval time.Duration
}

// add adds the flags to a set, in the order of the help text.
func (f *sourceFlags) add(set *pflag.FlagSet) {
	set.StringArrayVar(&f.prefixes, "allow-url-prefix", nil, "allowed prefix of URLs of templates and archives; can be repeated; without it, no URL is fetched")
	set.StringArrayVar(&f.networks, "allow-url-network", nil, "non-public network, for example 10.1.0.0/16, from which URLs can be fetched; can be repeated")
	set.DurationVar(&f.interval, "source-interval", 5*time.Minute, "interval for polling templates, archives and inputs outside of an Application. spec.interval has precedence")
}

// apply creates the fetcher. Without prefixes, it fetches nothing.
func (f *sourceFlags) apply(options *controller.Options) error {
	if f.interval < time.Second {
		return fmt.Errorf("--source-interval is %v, must be at least 1s", f.interval)
	}
	settings := fetch.Options{Prefixes: f.prefixes, UserAgent: "holdfast-controller/" + version.String()}
	for _, text := range f.networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("--allow-url-network: %q is not a network such as 10.1.0.0/16", text)
		}
		// Bits beyond the prefix have no effect.
		settings.Networks = append(settings.Networks, network.Masked())
	}
	fetcher, err := fetch.New(settings)
	if err != nil {
		return fmt.Errorf("--allow-url-prefix: %w", err)
	}
	options.Fetcher, options.SourceInterval = fetcher, f.interval
	return nil
}
