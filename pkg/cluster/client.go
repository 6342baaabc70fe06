package cluster

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// RequestTimeout limits one request to an API server.
const RequestTimeout = 30 * time.Second

// Client contains the connections to one API server: one with the controller's own identity, for reading and for
// Applications, and one that always impersonates a user. Both share one transport, and with it the HTTP/2 connection.
// All methods can be called from any goroutine.
type Client struct {
	// Config has no client-side rate limits, because API Priority and Fairness limits requests on the
	// server.
	Config *rest.Config
	// Own, Metadata and Discovery have the controller's own identity.
	Own       dynamic.Interface
	Metadata  metadata.Interface
	Discovery discovery.DiscoveryInterface

	// applications works with JSON bytes. writes and writesRaw impersonate the user in the context of a request.
	applications rest.Interface
	writes       dynamic.Interface
	writesRaw    rest.Interface
}

// NewClient returns a client for the API server of a configuration. It sends no requests.
func NewClient(base *rest.Config) (*Client, error) {
	config := rest.CopyConfig(base)
	config.QPS, config.RateLimiter = -1, nil
	config.WarningHandler = rest.NoWarnings{}
	// The fence is outermost, and applies to impersonated requests, too, because they use the same transport.
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fencedTransport{unescapedTransport{next}} })
	own, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", config.Host, err)
	}
	c := &Client{Config: config}
	if c.Own, err = dynamic.NewForConfigAndClient(config, own); err != nil {
		return nil, err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(config, own); err != nil {
		return nil, err
	}
	if c.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, own); err != nil {
		return nil, err
	}
	if c.applications, err = applicationsClient(config, own); err != nil {
		return nil, err
	}
	impersonating := &http.Client{Transport: impersonator{own.Transport}, Timeout: own.Timeout}
	if c.writes, err = dynamic.NewForConfigAndClient(config, impersonating); err != nil {
		return nil, err
	}
	c.writesRaw, err = applicationsClient(config, impersonating)
	return c, err
}

// applicationsClient returns a client for Applications that works with JSON bytes, because decoding would
// change their raw manifests and nulls.
func applicationsClient(base *rest.Config, client *http.Client) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(base)
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientForConfigAndClient(config, client)
}

// NewWatches returns a Watches without any watch. Its requests have the controller's own identity.
func (c *Client) NewWatches(handler Handler, patience StallTimeouts) *Watches {
	return newWatches(c.Own, eventClient{c.applications}, handler, patience)
}
