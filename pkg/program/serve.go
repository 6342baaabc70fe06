package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"holdfast.dev/holdfast/pkg/controller"
	"holdfast.dev/holdfast/pkg/worker"
)

// serve starts the servers that the flags configure. stop closes them without waiting for requests. able returns an
// error if this process cannot work.
func serve(ctx context.Context, f *flags, c *controller.Controller, able func() error) (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			_ = server.Close()
		}
	}
	for _, s := range []struct {
		flag, address, message string
		handler                http.Handler
	}{
		{"--metrics-bind-address", f.metricsAddress, "Serving", signals(f.options.Metrics.Gatherer(), c.Ready, able)},
		{"--profiling-bind-address", f.profilingAddress, "Serving profiles", profiles()},
	} {
		if off(s.address) {
			continue
		}
		listener, err := bind(ctx, s.flag, s.address)
		if err != nil {
			stop()
			return nil, err
		}
		servers = append(servers, startServer(ctx, listener, s.message, s.handler))
	}
	return stop, nil
}

// bind listens on the address that a flag sets. The error names the flag.
func bind(ctx context.Context, flag, address string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return listener, nil
}

// startServer starts a server on its own goroutine, and logs the message with the address.
func startServer(ctx context.Context, listener net.Listener, message string, handler http.Handler) *http.Server {
	klog.FromContext(ctx).Info(message, "address", listener.Addr().String())
	server := &http.Server{Handler: worker.RecoverPanics(ctx, handler), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.FromContext(ctx).Error(err, "Serving has ended")
		}
	}()
	return server
}

// signals serves metrics, liveness and readiness. The process is ready if it knows the Applications and
// could lead, so that it can take over.
func signals(own prometheus.Gatherer, ready func() bool, able func() error) http.Handler {
	// The process is alive as long as it answers: a lost connection to the API server is no reason to restart it.
	mux := http.NewServeMux()
	// The first contains the metrics of client-go, of the election and of the queues.
	all := prometheus.Gatherers{legacyregistry.DefaultGatherer, own}
	mux.Handle("/metrics", promhttp.HandlerFor(all, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		// A Service sends no callbacks to a Pod that is not ready.
		if !ready() {
			http.Error(w, "the Applications are not listed yet", http.StatusServiceUnavailable)
			return
		}
		if err := able(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// profiles serves profiles for go tool pprof. It leaves out the handler that returns the command line of the process.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
