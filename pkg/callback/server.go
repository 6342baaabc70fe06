package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/hooks"
	"holdfast.dev/holdfast/pkg/worker"
)

// The limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	requestTimeout = 15 * time.Second
	mostHeader     = 8 << 10
	mostBody       = 4 << 10
	// apiTimeout is for a request to the API server, with the wait for its turn. A
	// call makes two at most, which fit into requestTimeout.
	apiTimeout = 7 * time.Second
)

// Options of a Server.
type Options struct {
	// Lookup finds an Application; nil if there is none.
	Lookup func(namespace, name string) *v1alpha1.Application
	// Read reads an Application from the API server, for a call with a valid token
	// that comes too early by what Lookup knows; nil: it is too early.
	Read func(ctx context.Context, at types.NamespacedName) (*v1alpha1.Application, error)
	// Ready reports whether Lookup knows all Applications; nil: it does.
	Ready func() bool
	// Accept writes down that an Application was called back. It is called again
	// for a call that is repeated before Lookup shows the first.
	Accept func(ctx context.Context, app *v1alpha1.Application, purpose hooks.Purpose) error
	// Count counts the results of calls; nil for nobody.
	Count func(result string)
	// CallsPerSecond is how many calls may come from one address; 0 for 100, with
	// room for a burst of ten times that.
	CallsPerSecond int
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// Server answers callbacks.
type Server struct {
	options Options
	limits  *limits
	writing singleflight.Group
	reading singleflight.Group
	// connections is how many there may be, share how many of one address.
	connections, share int
}

// NewServer makes a server.
func NewServer(options Options) *Server {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Ready == nil {
		options.Ready = func() bool { return true }
	}
	if options.Count == nil {
		options.Count = func(string) {}
	}
	if options.CallsPerSecond <= 0 {
		options.CallsPerSecond = callRate
	}
	return &Server{options: options, limits: newLimits(options.CallsPerSecond, options.Now), connections: mostConnections, share: mostOfOne}
}

// Serve answers until the context ends, and returns when what it has begun is
// finished. Without a TLS configuration it speaks plain HTTP, which is for
// development only.
func (s *Server) Serve(ctx context.Context, listener net.Listener, config *tls.Config) error {
	// Those beyond are there to be judged: they, or others, are closed at once.
	listener = netutil.LimitListener(listener, s.connections+mostJudged)
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	complaints := log.New(&complaints{klog.FromContext(ctx), rate.NewLimiter(complaintRate, complaintBurst)}, "", 0)
	shares := &shares{most: s.connections, mostOfOne: s.share, complain: complaints.Printf, open: map[string][]*share{}}
	server := &http.Server{
		Handler:           worker.Recovering(ctx, s),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		MaxHeaderBytes: mostHeader,
		BaseContext:    func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ErrorLog:       complaints,
		ConnState:      shares.follow,
	}
	// A workload calls once. A connection is its caller's no longer than that, and what
	// is left of a body is not waited for.
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

// complaints are what the library has to say of connections: that a caller does not
// trust the certificate, for example. Whoever can connect can cause them, so most
// are dropped when there are many.
type complaints struct {
	logger klog.Logger
	limit  *rate.Limiter
}

func (c *complaints) Write(line []byte) (int, error) {
	if c.limit.Allow() {
		c.logger.Info("A connection to the callback server has failed", "problem", string(bytes.TrimSpace(line)))
	}
	return len(line), nil
}
