package callback

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/worker"
)

// Limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 15 * time.Second
	maxHeaderBytes = 8 << 10
	maxBodyBytes   = 4 << 10
	// apiTimeout limits one request to the API server, including the wait for a slot. A call makes at most
	// two such requests, which fit into requestTimeout.
	apiTimeout = 7 * time.Second
)

// Options configures a Server.
type Options struct {
	// Lookup returns an Application from the cache, or nil.
	Lookup func(namespace, name string) *v1alpha1.Application
	// Read reads an Application from the API server. It is called for a call with a valid token that is too
	// early according to Lookup.
	Read func(ctx context.Context, at types.NamespacedName) (*v1alpha1.Application, error)
	// Ready reports whether Lookup knows all Applications.
	Ready func() bool
	// Annotate records a call in the Application, with the controller's own rights: it sets the annotation of the
	// purpose to the time, if the Application still has the UID. It writes no status, so it needs no version of the
	// Application and has no conflict with the leader. It is called again if a call is repeated before Lookup returns
	// the recorded one.
	Annotate func(ctx context.Context, app *v1alpha1.Application, key, value string) error
	// Count counts the results of calls.
	Count func(result string)
	// CallsPerSecond is the rate limit per address, with a burst of ten times the rate. It defaults to 100.
	CallsPerSecond int
	// Now is the clock. It defaults to time.Now.
	Now func() time.Time
}

// Server handles callbacks. net/http calls ServeHTTP concurrently.
type Server struct {
	options Options
	limits  *limits
	// writing merges concurrent writes for one Application and purpose, reading merges reads of one Application.
	writing singleflight.Group
	reading singleflight.Group
	// connections and share are the maximum numbers of connections, in total and per address.
	connections, share int
}

// NewServer returns a server with the given options. Only CallsPerSecond and Now have defaults.
func NewServer(options Options) *Server {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.CallsPerSecond <= 0 {
		options.CallsPerSecond = callRate
	}
	return &Server{options: options, limits: newLimits(options.CallsPerSecond, options.Now), connections: maxConnections, share: maxPerAddress}
}

// Serve handles calls until the context ends, and returns when running calls have finished, at most requestTimeout
// later. Without a TLS configuration it serves plain HTTP, which is for development only. It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener, config *tls.Config) error {
	// The extra connections are accepted only to decide which one to close.
	listener = netutil.LimitListener(listener, s.connections+maxPendingDecisions)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	// Both net/http and shares write to this log.
	complaints := worker.ErrorLog(ctx, "A connection to the callback server has failed")
	shares := &shares{most: s.connections, mostOfOne: s.share, complain: complaints.Printf, open: map[string][]*share{}}
	server := &http.Server{
		Handler:           worker.RecoverPanics(ctx, s),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		// Running calls finish after the end of ctx.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:    complaints,
		ConnState:   shares.follow,
	}
	// Workloads call once, so keep-alive would only occupy a connection. Remaining bytes of a body are not
	// awaited.
	server.SetKeepAlivesEnabled(false)
	defer func() { _ = server.Close() }()
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		_ = server.Shutdown(drain)
	})()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-stopped
	return nil
}
